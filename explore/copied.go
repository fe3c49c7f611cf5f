package explore

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
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

// warnings returns the warnings about a write, without those about values that the operator has copied
// unchanged from the custom resource: those are the user's mistakes.
func (p *player) warnings(r inspect.Request) (own []string) {
	if len(r.Warnings) == 0 {
		return nil
	}
	written := p.writtenIn(r)
	for _, warning := range r.Warnings {
		if !p.copied(written, warning) {
			own = append(own, warning)
		}
	}
	return own
}

// writtenIn returns the object in a request; nil: the run has not recorded it.
func (p *player) writtenIn(r inspect.Request) map[string]any {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	for _, s := range p.run.seen {
		if s.auditID == r.AuditID {
			return s.written
		}
	}
	return nil
}

// copied reports whether the value that a warning is about is one of the custom resource, as it is or was.
func (p *player) copied(written map[string]any, warning string) bool {
	path, _, ok := strings.Cut(warning, ": ")
	if !ok {
		return false
	}
	names, value := lookUp(written, path)
	if len(names) == 0 {
		return false
	}
	// A text that the trial has put into the custom resource may be in another field: the size of a claim is that of the spec.
	if text, ok := value.(string); ok && text != "" && slices.ContainsFunc(p.edits, func(s generate.Step) bool { return s.Value == value }) {
		return true
	}
	found := counterparts{names: names}
	for n := range len(p.edits) + 1 {
		if wanted, err := generate.Edit(p.seed.object.Object, p.edits[:n]...); err == nil {
			found.collect(nil, wanted)
		}
	}
	return slices.ContainsFunc(found.values, func(v any) bool { return holds(value, v) })
}

// copiesStatus reports whether the status in a write of another object comes from the spec of the custom
// resource: a template may contain a status, which the operator copies.
func (p *player) copiesStatus(r inspect.Request) bool {
	status, isMap := p.writtenIn(r)["status"].(map[string]any)
	if !isMap || groupResource(r) == p.seed.resource.GroupResource().String() {
		return false
	}
	for n := range len(p.edits) + 1 {
		if wanted, err := generate.Edit(p.seed.object.Object, p.edits[:n]...); err == nil && hasStatus(wanted["spec"], status) {
			return true
		}
	}
	return false
}

// hasStatus reports whether a value has a field status that is not empty, and that a written status holds.
func hasStatus(value any, written map[string]any) bool {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			given, isMap := withoutEmpty(field).(map[string]any)
			if name == "status" && isMap && holds(written, given) || hasStatus(field, written) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, func(item any) bool { return hasStatus(item, written) })
	}
	return false
}

// holds reports whether a value contains all fields of another one. A copy may have additional defaults, such
// as the protocol of a port.
func holds(value, other any) bool {
	fields, isMap := withoutEmpty(value).(map[string]any)
	wanted, both := withoutEmpty(other).(map[string]any)
	if !isMap || !both {
		return same(value, other)
	}
	for name, want := range wanted {
		if !holds(fields[name], want) {
			return false
		}
	}
	return true
}

// lookUp follows the path of a warning, such as spec.containers[0].image, as far as there are values. It
// returns the last value, and the names of the fields on its path; no names: there is no value.
func lookUp(root any, path string) (names []string, value any) {
	here := root
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch in := here.(type) {
		case map[string]any:
			next, ok := in[step]
			if spec, isMap := in["spec"].(map[string]any); !ok && isMap {
				// Warnings of upstream's strategy of StatefulSets leave out spec, as in volumeClaimTemplates[0].resources.
				if next, ok = spec[step]; ok {
					names = append(names, "spec")
				}
			}
			if !ok {
				return names, value
			}
			here, names = next, append(names, step)
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(in) {
				return names, value
			}
			here = in[i]
		default:
			return names, value
		}
		value = here
	}
	return names, value
}

// counterparts are the values of a custom resource from which the value at a path may be copied: those whose
// paths share the longest end with it. For example, spec.containers[0].image is a counterpart of
// spec.template.spec.containers[1].image, and the image of another field is not.
type counterparts struct {
	names  []string // the names of the fields on the path
	end    int      // how many of the last names are equal
	values []any
}

// collect adds the values at and below a path of the custom resource. An item of a list has the names of its list.
func (c *counterparts) collect(names []string, value any) {
	n := 0
	for n < min(len(names), len(c.names)) && names[len(names)-1-n] == c.names[len(c.names)-1-n] {
		n++
	}
	if n > c.end {
		c.end, c.values = n, nil
	}
	if n > 0 && n == c.end {
		c.values = append(c.values, value)
	}
	switch parent := value.(type) {
	case map[string]any:
		for name, here := range parent {
			c.collect(append(slices.Clip(names), name), here)
		}
	case []any:
		for _, item := range parent {
			c.collect(names, item)
		}
	}
}

// same compares values without empty fields, which typed clients leave out.
func same(a, b any) bool { return reflect.DeepEqual(withoutEmpty(a), withoutEmpty(b)) }

func withoutEmpty(value any) any {
	switch parent := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, value := range parent {
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
		for _, item := range parent {
			kept = append(kept, withoutEmpty(item))
		}
		if len(kept) > 0 {
			return kept
		}
		return nil
	case int64:
		return float64(parent) // as in JSON
	case string:
		if parent == "" {
			return nil
		}
	}
	return value
}
