package player

import (
	"fmt"
	"net/http"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/fakecluster/fakecluster/internal/redact"
)

// Answer is a response of the server.
type Answer struct {
	Code int
	// Body is the decoded JSON, or the text of a body that is not JSON.
	Body any
	// Warnings are the texts of the Warning headers.
	Warnings []any
	// redaction is the request; it determines what a failure may show of the answer.
	redaction redact.Request
}

func (a Answer) IsError() bool { return a.Code >= 400 }

func (a Answer) metadata() map[string]any {
	object, _ := a.Body.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	return metadata
}

// ErrorFields is the answer as an "error:" describes it: the Status, or the code and
// the text of an answer that has none.
func (a Answer) ErrorFields() map[string]any {
	if status, ok := a.Body.(map[string]any); ok {
		return status
	}
	return map[string]any{"code": int64(a.Code), "body": a.Body}
}

// WarningsOf are the texts of the warnings that a client sees. It ignores malformed
// warnings.
func WarningsOf(header http.Header) []any {
	texts := []any{}
	warnings, _ := utilnet.ParseWarningHeaders(header["Warning"])
	for _, w := range warnings {
		texts = append(texts, w.Text)
	}
	return texts
}

// items returns the items of a list.
func (a Answer) items() []any {
	list, _ := a.Body.(map[string]any)
	items, _ := list["items"].([]any)
	if items == nil {
		items = []any{}
	}
	return items
}

// String is the answer in a line.
func (a Answer) String() string {
	status, ok := a.Body.(map[string]any)
	if !ok {
		return fmt.Sprintf("%s: %s", CodeText(a.Code), a.redactedText(strings.TrimSpace(fmt.Sprint(a.Body))))
	}
	reason, _ := status["reason"].(string)
	message, _ := status["message"].(string)
	return fmt.Sprintf("%d %s: %s", a.Code, a.redactedText(reason), a.redactedText(message))
}

func CodeText(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}
