package record

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fakecluster/fakecluster/internal/redact"
)

// secrets replaces the values of Secrets and tokens in a session by placeholders, so that the scenario can be shared and
// still be played.
type secrets struct {
	placeholders map[string]string // by the decoded value
}

// hide replaces such values in an exchange, and drops texts of errors and warnings that may quote one.
func (s *secrets) hide(e *exchange) {
	request := redact.Request{
		Group: e.info.APIGroup, Resource: e.info.Resource, Subresource: e.info.Subresource, Namespace: e.info.Namespace, Name: e.info.Name,
		Secret: e.secret,
	}.With(e.requestBody)
	e.requestBody = request.Replace(e.requestBody, s.sent)
	if e.code < http.StatusBadRequest {
		e.responseBody = request.ReplaceAnswer(e.responseBody, s.answered)
	} else {
		e.responseBody = withoutSecrets(request, e.code, e.responseBody)
	}
	for _, warning := range e.warnings {
		if text, _ := warning.(string); request.Text(text) != text {
			e.warnings = nil
			break
		}
	}
}

// withoutSecrets returns the fields of an error that are expected: its code and reason, and its message if it cannot
// quote a secret.
func withoutSecrets(request redact.Request, code int, failure any) any {
	status, ok := failure.(map[string]any)
	if !ok {
		text, _ := failure.(string)
		if request.Text(text) != text {
			return nil
		}
		return failure
	}
	left := map[string]any{"code": int64(code)}
	for _, name := range []string{"reason", "message"} {
		value, has := status[name]
		if text, ok := value.(string); has && (!ok || redact.IsReason(text) || request.Text(text) == text) {
			left[name] = value
		}
	}
	return left
}

// sent returns the placeholder for a value that a client has sent. It keeps the type and the encoding: text
// stays text, base64 stays base64, a bool becomes true, any other value becomes 1.
func (s *secrets) sent(path []string, value any) any {
	text, ok := value.(string)
	if !ok {
		if _, ok := value.(bool); ok {
			return true
		}
		return int64(1)
	}
	return s.replace(path, text, s.placeholder)
}

// answered returns the placeholder for a value in a response. A value that a client has sent gets the same
// placeholder as in the request. Any other value is dropped, because the server may generate a different one
// the next time.
func (s *secrets) answered(path []string, value any) any {
	text, ok := value.(string)
	missing := !ok
	replaced := s.replace(path, text, func(plain string) string {
		in, found := s.placeholders[plain]
		missing = missing || !found && plain != ""
		return in
	})
	if missing {
		return redact.Dropped
	}
	return replaced
}

// replace replaces a text, which may be encoded.
func (s *secrets) replace(path []string, text string, standIn func(plain string) string) any {
	switch {
	case len(path) > 0 && path[0] == "data":
		plain, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return redact.Hidden // is not base64 either
		}
		return base64.StdEncoding.EncodeToString([]byte(standIn(string(plain))))
	case len(path) == 3 && path[2] == lastApplied:
		var applied any
		if utiljson.Unmarshal([]byte(text), &applied) != nil {
			break
		}
		if made, err := json.Marshal(redact.Replace(applied, s.sent)); err == nil {
			return string(made)
		}
	}
	return standIn(text)
}

// placeholder returns the text that stands for a value, the same each time. For JSON it is JSON, because some types of
// Secrets require that.
func (s *secrets) placeholder(plain string) string {
	if plain == "" {
		return ""
	}
	if s.placeholders == nil {
		s.placeholders = map[string]string{}
	}
	in, found := s.placeholders[plain]
	if !found {
		in = fmt.Sprintf("secret-%d", len(s.placeholders)+1)
		if fields := map[string]any(nil); json.Unmarshal([]byte(plain), &fields) == nil {
			in = fmt.Sprintf(`{%q: {}}`, in)
		}
		s.placeholders[plain] = in
	}
	return in
}
