package player

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/redact"
)

// redacted is a value that is compared but not shown, because it is a value of a Secret, or may quote one.
type redacted struct {
	value any
	show  func(any) string // returns what is shown in place of a value
}

func (h redacted) String() string { return h.show(h.value) }

// equals reports whether the hidden value equals value.
func (h redacted) equals(value any) bool { return reflect.DeepEqual(number(value), number(h.value)) }

// sides returns what a difference shows for an expected value and for the hidden value in its place.
func (h redacted) sides(want any) (w, g any) {
	shown := h.String()
	if h.equals(want) {
		return shown, shown
	}
	other := h.show(want)
	if other == shown {
		other = "(another secret)"
	}
	return other, shown
}

// MarshalJSON implements json.Marshaler, by which values are shown in a line.
func (h redacted) MarshalJSON() ([]byte, error) { return json.Marshal(h.String()) }

// redactValue hides a value.
func redactValue(_ []string, value any) any {
	return redacted{value, func(any) string { return redact.Hidden }}
}

// redaction returns the properties of the call that determine what is hidden in messages.
func (to Call) redaction() redact.Request {
	var r redact.Request
	location, err := url.Parse(to.Path)
	if err != nil {
		return r
	}
	if info, err := RequestInfo.NewRequestInfo(&http.Request{Method: to.Method, URL: location}); err == nil && info.IsResourceRequest {
		r = redact.Request{
			Group: info.APIGroup, Resource: info.Resource, Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name,
		}
	}
	switch {
	case to.by != nil && to.by.Account != nil:
		r.User = "system:serviceaccount:" + strings.Replace(fmt.Sprint(to.by.Account), "/", ":", 1)
	case to.by != nil && to.by.Name != nil:
		r.User = fmt.Sprint(to.by.Name)
	}
	return r.With(plain(to.Body))
}

// redactedBody returns the body of an answer. Its hidden values can be compared, but are not shown.
func (a Answer) redactedBody() any { return a.redaction.ReplaceAnswer(a.Body, redactValue) }

// redactedError returns the fields of an error in the same way. Texts that may quote a hidden value are hidden.
func (a Answer) redactedError() map[string]any {
	shown := maps.Clone(a.ErrorFields())
	for _, name := range []string{"message", "reason", "body"} {
		if text, ok := shown[name].(string); ok {
			shown[name] = a.textOrRedacted(text)
		}
	}
	if details, ok := shown["details"].(map[string]any); ok && a.redaction.Holds() {
		shown["details"] = hideLeaves(details)
	}
	return shown
}

// redactedWarnings returns the warnings in the same way.
func (a Answer) redactedWarnings() []any {
	warnings := make([]any, len(a.Warnings))
	for i, warning := range a.Warnings {
		warnings[i] = a.textOrRedacted(fmt.Sprint(warning))
	}
	return warnings
}

// hideLeaves hides all texts in a tree.
func hideLeaves(tree any) any {
	return mapLeaves(tree, func(leaf any) any {
		if text, ok := leaf.(string); ok {
			return redactValue(nil, text)
		}
		return leaf
	})
}

// mapLeaves returns a copy of a tree in which a function has replaced what is neither a map nor a list.
func mapLeaves(tree any, replace func(leaf any) any) any {
	switch node := tree.(type) {
	case map[string]any:
		fields := make(map[string]any, len(node))
		for name, field := range node {
			fields[name] = mapLeaves(field, replace)
		}
		return fields
	case []any:
		items := make([]any, len(node))
		for i, item := range node {
			items[i] = mapLeaves(item, replace)
		}
		return items
	}
	return replace(tree)
}

// textOrRedacted returns a text about the request, which is hidden if it may quote a value.
func (a Answer) textOrRedacted(text string) any {
	if a.redactedText(text) == text {
		return text
	}
	return redacted{text, func(value any) string { return a.redactedText(fmt.Sprint(value)) }}
}

// redactedText returns a text about the request without hidden values. The message of a Status is rebuilt from its
// causes.
func (a Answer) redactedText(text string) string {
	if redact.IsReason(text) {
		return text
	}
	status, _ := a.Body.(map[string]any)
	if text != status["message"] {
		return a.redaction.Text(text)
	}
	answered := &metav1.Status{Message: text, Details: &metav1.StatusDetails{}}
	details, _ := status["details"].(map[string]any)
	causes, _ := details["causes"].([]any)
	for _, each := range causes {
		cause, _ := each.(map[string]any)
		field, _ := cause["field"].(string)
		message, _ := cause["message"].(string)
		answered.Details.Causes = append(answered.Details.Causes, metav1.StatusCause{Field: field, Message: message})
	}
	_, shown := a.redaction.Status(answered)
	return shown
}

// redactedVariables returns the variables of expressions without hidden values. hides reports whether a value was
// hidden.
func redactedVariables(answers map[string]Answer) (variables map[string]any, hides bool) {
	variables = map[string]any{}
	for name, a := range answers {
		shown := a.redactedBody()
		if _, isStatus := a.Body.(map[string]any); isStatus && a.IsError() {
			shown = a.redactedError()
		}
		hides = hides || hasRedacted(shown)
		variables[name] = plain(renderRedacted(shown))
	}
	return variables, hides
}

// renderRedacted returns a tree in which each hidden value is replaced by the text that is shown for it.
func renderRedacted(tree any) any {
	return mapLeaves(tree, func(leaf any) any {
		if hidden, ok := leaf.(redacted); ok {
			return hidden.String()
		}
		return leaf
	})
}

// hasRedacted reports whether a tree has hidden values.
func hasRedacted(tree any) bool {
	switch node := tree.(type) {
	case redacted:
		return true
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(node)), hasRedacted)
	case []any:
		return slices.ContainsFunc(node, hasRedacted)
	}
	return false
}

// errRedacted is the error of an expression that reads a Secret.
var errRedacted = errors.New("it cannot be evaluated, and the reason may contain a secret")

// redactEvaluationError returns the error of an expression, or errRedacted if it may quote a hidden value.
func redactEvaluationError(program cel.Program, answers map[string]Answer, err error) error {
	shown, hides := redactedVariables(answers)
	if !hides {
		return err
	}
	if _, _, other := program.Eval(shown); other != nil {
		return other
	}
	return errRedacted
}
