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

// IsError reports whether the server rejected the request.
func (a Answer) IsError() bool { return a.Code >= 400 }

func (a Answer) metadata() map[string]any { return MetadataOf(a.Body) }

// ErrorFields returns the fields that an expectation "error:" is compared with: those of the Status, or code and body if
// the body is not a Status.
func (a Answer) ErrorFields() map[string]any {
	if status, ok := a.Body.(map[string]any); ok {
		return status
	}
	return map[string]any{"code": int64(a.Code), "body": a.Body}
}

// WarningsOf returns the texts of the Warning headers. It ignores malformed ones.
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

// String returns the answer in one line, without values of Secrets.
func (a Answer) String() string {
	status, ok := a.Body.(map[string]any)
	if !ok {
		return fmt.Sprintf("%s: %s", CodeText(a.Code), a.redactedText(strings.TrimSpace(fmt.Sprint(a.Body))))
	}
	reason, _ := status["reason"].(string)
	message, _ := status["message"].(string)
	return fmt.Sprintf("%d %s: %s", a.Code, a.redactedText(reason), a.redactedText(message))
}

// CodeText returns a status code with its text, such as 404 Not Found.
func CodeText(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}
