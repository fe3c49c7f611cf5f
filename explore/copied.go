package explore

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
	"github.com/fakecluster/fakecluster/inspect"
)

// writtenBy returns the object in a request; nil: there is none.
func writtenBy(req *http.Request) map[string]any {
	if req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return nil
	}
	var written map[string]any
	if bytes.HasPrefix(text, []byte("{")) {
		_ = json.Unmarshal(text, &written)
		return written
	}
	o, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil) // protobuf, or YAML
	if err != nil {
		return nil
	}
	written, _ = runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	return written
}

// warnings returns the warnings about a write, without those about values that the operator has copied from the custom resource as they are:
// those are for the user.
func (p *playing) warnings(r inspect.Request) (own []string) {
	if len(r.Warnings) == 0 {
		return nil
	}
	var written map[string]any
	p.run.mu.Lock()
	for _, s := range p.run.seen {
		if s.userAgent == r.UserAgent {
			written = s.written
		}
	}
	p.run.mu.Unlock()
	for _, warning := range r.Warnings {
		if !p.copied(written, warning) {
			own = append(own, warning)
		}
	}
	return own
}

func (p *playing) copied(written map[string]any, warning string) bool {
	path, _, ok := strings.Cut(warning, ": ")
	if !ok {
		return false
	}
	field, value := lookUp(written, path)
	if field == "" {
		return false
	}
	for n := range len(p.edits) + 1 {
		if wanted, err := generate.Edit(p.seed.object.Object, p.edits[:n]...); err == nil && has(wanted, field, value) {
			return true
		}
	}
	return false
}

// lookUp follows the path of a warning, such as spec.containers[0].image, as far as there are values, and returns the last of them, with
// the name of its field; empty: there is none.
func lookUp(of any, path string) (field string, value any) {
	at := of
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch in := at.(type) {
		case map[string]any:
			next, ok := in[step]
			if !ok {
				return field, value
			}
			at, field = next, step
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(in) {
				return field, value
			}
			at = in[i]
		default:
			return field, value
		}
		value = at
	}
	return field, value
}

// has reports whether there is a field of this name with the value, or with a list of which it is an item.
func has(of any, field string, value any) bool {
	switch of := of.(type) {
	case map[string]any:
		for name, here := range of {
			if name == field && same(here, value) || has(here, field, value) {
				return true
			}
			items, ok := here.([]any)
			for i := 0; ok && name == field && i < len(items); i++ {
				if same(items[i], value) {
					return true
				}
			}
		}
	case []any:
		for _, item := range of {
			if has(item, field, value) {
				return true
			}
		}
	}
	return false
}

// same compares values without empty fields, which typed clients leave out.
func same(a, b any) bool { return reflect.DeepEqual(withoutEmpty(a), withoutEmpty(b)) }

func withoutEmpty(of any) any {
	switch of := of.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, value := range of {
			if value = withoutEmpty(value); value != nil {
				kept[name] = value
			}
		}
		if len(kept) > 0 {
			return kept
		}
		return nil
	case []any:
		var kept []any
		for _, item := range of {
			kept = append(kept, withoutEmpty(item))
		}
		if len(kept) > 0 {
			return kept
		}
		return nil
	case int64:
		return float64(of) // as in JSON
	case string:
		if of == "" {
			return nil
		}
	}
	return of
}
