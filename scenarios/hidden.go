package scenarios

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

// hidden is a value that is compared and not shown, because it is that of a Secret, or may quote one.
type hidden struct {
	value any
	show  func(any) string // what is shown of it, or of another value in its place
}

func (h hidden) String() string { return h.show(h.value) }

// is reports whether it is the given value.
func (h hidden) is(value any) bool { return reflect.DeepEqual(number(value), number(h.value)) }

// beside returns what a difference shows of a value that is wanted, and of the hidden one in its place.
func (h hidden) beside(want any) (w, g any) {
	shown := h.String()
	if h.is(want) {
		return shown, shown
	}
	other := h.show(want)
	if other == shown {
		other = "(another secret)"
	}
	return line{other}, line{shown}
}

// MarshalJSON implements json.Marshaler, by which values are shown in a line.
func (h hidden) MarshalJSON() ([]byte, error) { return json.Marshal(h.String()) }

// secret hides a value.
func secret(_ []string, value any) any {
	return hidden{value, func(any) string { return redact.Hidden }}
}

// about is the request of a call, as far as it matters to what may be shown.
func (to call) about() redact.Request {
	var r redact.Request
	at, err := url.Parse(to.path)
	if err != nil {
		return r
	}
	if info, err := requestInfo.NewRequestInfo(&http.Request{Method: to.method, URL: at}); err == nil && info.IsResourceRequest {
		r = redact.Request{
			Group: info.APIGroup, Resource: info.Resource, Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name,
		}
	}
	switch {
	case to.by != nil && to.by.account != nil:
		r.User = "system:serviceaccount:" + strings.Replace(fmt.Sprint(to.by.account), "/", ":", 1)
	case to.by != nil && to.by.name != nil:
		r.User = fmt.Sprint(to.by.name)
	}
	return r.With(plain(to.body))
}

// shownBody is the body of an answer, whose hidden values are compared and not shown.
func (a answer) shownBody() any { return a.about.ReplaceAnswer(a.body, secret) }

// shownRefusal is the refusal in the same way: its texts are shown as far as they may.
func (a answer) shownRefusal() map[string]any {
	shown := map[string]any{}
	for name, value := range a.refusal() {
		shown[name] = value
	}
	for _, name := range []string{"message", "reason", "body"} {
		if text, ok := shown[name].(string); ok {
			shown[name] = a.text(text)
		}
	}
	if details, ok := shown["details"].(map[string]any); ok && a.about.Holds() {
		shown["details"] = hideLeaves(details)
	}
	return shown
}

// shownWarnings are the warnings in the same way.
func (a answer) shownWarnings() []any {
	all := make([]any, len(a.warnings))
	for i, warning := range a.warnings {
		all[i] = a.text(fmt.Sprint(warning))
	}
	return all
}

// hideLeaves hides all texts in a tree.
func hideLeaves(tree any) any {
	switch is := tree.(type) {
	case map[string]any:
		all := make(map[string]any, len(is))
		for name, field := range is {
			all[name] = hideLeaves(field)
		}
		return all
	case []any:
		all := make([]any, len(is))
		for i, item := range is {
			all[i] = hideLeaves(item)
		}
		return all
	case string:
		return secret(nil, is)
	}
	return tree
}

// text returns a text about the request, which is hidden if it may quote a value.
func (a answer) text(text string) any {
	if a.shownText(text) == text {
		return text
	}
	return hidden{text, func(value any) string { return a.shownText(fmt.Sprint(value)) }}
}

// shownText returns what may be shown of a text about the request. Of its message it is what the causes say.
func (a answer) shownText(text string) string {
	if redact.IsReason(text) {
		return text
	}
	status, _ := a.body.(map[string]any)
	if text != status["message"] {
		return a.about.Text(text)
	}
	of := &metav1.Status{Message: text, Details: &metav1.StatusDetails{}}
	details, _ := status["details"].(map[string]any)
	causes, _ := details["causes"].([]any)
	for _, each := range causes {
		cause, _ := each.(map[string]any)
		field, _ := cause["field"].(string)
		message, _ := cause["message"].(string)
		of.Details.Causes = append(of.Details.Causes, metav1.StatusCause{Field: field, Message: message})
	}
	_, shown := a.about.Status(of)
	return shown
}

// hiding returns the variables of expressions without hidden values, and whether there are some.
func hiding(answers map[string]answer) (variables map[string]any, hides bool) {
	variables = map[string]any{}
	for name, a := range answers {
		shown := a.shownBody()
		if _, isStatus := a.body.(map[string]any); isStatus && a.refused() {
			shown = a.shownRefusal()
		}
		hides = hides || hasHidden(shown)
		variables[name] = plain(withoutHidden(shown))
	}
	return variables, hides
}

// withoutHidden returns a tree with what is shown in the place of the hidden values.
func withoutHidden(tree any) any {
	switch is := tree.(type) {
	case hidden:
		return is.String()
	case map[string]any:
		all := make(map[string]any, len(is))
		for name, field := range is {
			all[name] = withoutHidden(field)
		}
		return all
	case []any:
		all := make([]any, len(is))
		for i, item := range is {
			all[i] = withoutHidden(item)
		}
		return all
	}
	return tree
}

// hasHidden reports whether a tree has hidden values.
func hasHidden(tree any) bool {
	switch is := tree.(type) {
	case hidden:
		return true
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(is)), hasHidden)
	case []any:
		return slices.ContainsFunc(is, hasHidden)
	}
	return false
}

// errHidden is the error of an expression that reads a Secret.
var errHidden = errors.New("it cannot be evaluated, and the reason may contain a secret")

// shownError returns the error of an expression, as far as it may be shown.
func shownError(program cel.Program, answers map[string]answer, err error) error {
	shown, hides := hiding(answers)
	if !hides {
		return err
	}
	if _, _, other := program.Eval(shown); other != nil {
		return other
	}
	return errHidden
}
