package redact

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HiddenText replaces the part of a text that may quote a value.
const HiddenText = "(hidden: it may contain a secret)"

// Text returns a text about the request without what may quote a value.
func (r Request) Text(text string) string {
	if text == "" || !hasSecret(text) && !r.Holds() {
		return text
	}
	r = r.read()
	kept := r.beginning(text)
	rest := text[len(kept):]
	if strings.HasSuffix(kept, "strict decoding error: ") {
		fieldErrors := r.fieldErrors(rest)
		kept, rest = kept+fieldErrors, rest[len(fieldErrors):]
	}
	if rest == "" || isDetail(rest) || strings.HasPrefix(rest, ": ") && isDetail(rest[2:]) {
		return text
	}
	return kept + HiddenText
}

// Status returns the reason and the message of a failure, with its causes, without what may quote a value.
func (r Request) Status(s *metav1.Status) (reason, message string) {
	reason, message = string(s.Reason), s.Message
	if message == r.object()+" not found" || !hasSecret(message) && !r.Holds() { // the first is the most frequent one
		return reason, message
	}
	r = r.read()
	if !IsReason(reason) {
		reason = "(hidden)" // of a webhook
	}
	if beginning := r.beginning(message); strings.HasSuffix(beginning, " is invalid: ") && s.Details != nil && len(s.Details.Causes) > 0 {
		var causes []string
		for _, c := range s.Details.Causes {
			causes = append(causes, fieldOf(c.Field)+": "+r.Cause(c.Message))
		}
		if message = beginning + causes[0]; len(causes) > 1 {
			message = beginning + "[" + strings.Join(causes, ", ") + "]"
		}
		return reason, message
	}
	return reason, r.Text(message)
}

// Cause returns the message of a field error without the value: the kind of error, and the sentence at its end.
func (r Request) Cause(message string) string {
	if !hasSecret(message) && !r.Holds() {
		return message
	}
	kind := failures.FindString(message)
	rest := strings.TrimPrefix(strings.TrimPrefix(message, kind), ": ")
	if kind == message || kind != "" && isDetail(rest) {
		return message
	}
	shown := HiddenText
	if kind != "" {
		shown = kind + ": " + shown
	}
	if detail := details.FindStringSubmatch(rest); kind != "" && detail != nil {
		shown += ": " + detail[1]
	}
	return shown
}

// fieldOf returns the field of a cause, or "(hidden)" if it does not look like a field.
func fieldOf(field string) string {
	if strings.ContainsFunc(field, func(r rune) bool {
		return !strings.ContainsRune("._-/[]<>$", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return "(hidden)"
	}
	return field
}

// beginning returns the longest beginning of a text that is one of the server's own sentences.
func (r Request) beginning(text string) (longest string) {
	for _, sentence := range sentences {
		found := sentence.FindStringSubmatch(text)
		if len(found) == 0 || len(found[0]) <= len(longest) {
			continue
		}
		public := true
		for i, gap := range sentence.SubexpNames() {
			public = public && (gap == "" || found[i] == "" || r.isPublic(strings.TrimRight(gap, "0123456789"), found[i]))
		}
		if public {
			longest = found[0]
		}
	}
	return longest
}

// fieldErrors returns the beginning of a list of unknown and duplicate fields, as far as the body has fields of those
// names.
func (r Request) fieldErrors(text string) string {
	end := 0
	for end < len(text) {
		rest := strings.TrimPrefix(text[end:], ", ")
		one := r.beginning(rest)
		if !strings.Contains(one, ` field "`) {
			break
		}
		end = len(text) - len(rest) + len(one)
	}
	return text[:end]
}

// isPublic reports whether the text in a gap of a sentence is public: a name, a field or a kind of the request.
func (r Request) isPublic(gap, text string) bool {
	switch gap {
	case "kind":
		body, _ := r.sent().(map[string]any)
		return isKind(text) || r.rule() == nil && body["kind"] == text
	case "path":
		return hasField(r.sent(), strings.TrimPrefix(text, "."))
	}
	public := []string{
		"Unknown", "namespaces", "serviceaccounts", r.Group, r.Resource, r.resource(), r.Resource + "/" + r.Subresource,
		r.Namespace, r.Name, r.Namespace + "/" + r.Name, r.User,
	}
	body, _ := r.sent().(map[string]any)
	metadata, _ := body["metadata"].(map[string]any)
	for _, field := range []string{"name", "generateName"} {
		if name, ok := metadata[field].(string); ok {
			namespace, _ := metadata["namespace"].(string)
			public = append(public, name, r.Namespace+"/"+name, namespace+"/"+name)
		}
	}
	return slices.Contains(public, text)
}

// resource returns the resource with its group, and object the object, as messages name them.
func (r Request) resource() string {
	if r.Group == "" {
		return r.Resource
	}
	return r.Resource + "." + r.Group
}

func (r Request) object() string { return r.resource() + ` "` + r.Name + `"` }

// hasField reports whether a tree has a field, named as decoders do: metadata.labels.a, items[0].
func hasField(tree any, path string) bool {
	if path == "" {
		return true
	}
	switch node := tree.(type) {
	case map[string]any:
		for name, field := range node {
			if rest, ok := strings.CutPrefix(path, name); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') && hasField(field, strings.TrimPrefix(rest, ".")) {
				return true
			}
		}
	case []any:
		for i, item := range node {
			if rest, ok := strings.CutPrefix(path, fmt.Sprintf("[%d]", i)); ok && hasField(item, strings.TrimPrefix(rest, ".")) {
				return true
			}
		}
	}
	return false
}

// IsReason reports whether a text is a reason of the server's own.
func IsReason(text string) bool { return slices.Contains(reasons, metav1.StatusReason(text)) }

// reasons are the reasons that the server itself gives.
var reasons = []metav1.StatusReason{
	metav1.StatusReasonUnknown, metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound,
	metav1.StatusReasonAlreadyExists, metav1.StatusReasonConflict, metav1.StatusReasonGone, metav1.StatusReasonInvalid,
	metav1.StatusReasonServerTimeout, metav1.StatusReasonStoreReadError, metav1.StatusReasonTimeout, metav1.StatusReasonTooManyRequests,
	metav1.StatusReasonBadRequest, metav1.StatusReasonMethodNotAllowed, metav1.StatusReasonNotAcceptable,
	metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonUnsupportedMediaType, metav1.StatusReasonInternalError,
	metav1.StatusReasonExpired, metav1.StatusReasonServiceUnavailable, "NotImplemented", "Panic",
}
