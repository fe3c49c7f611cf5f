package write

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"

	"github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// apply applies an Apply to the current object, as the write shows it. The result has the
// new owners of its fields.
func (a attempt) apply(change Apply, shown resource.Decoded) (wanted resource.Decoded, managed bool, err error) {
	if wanted, err = a.merge(change, shown); err != nil {
		return resource.Decoded{}, false, err
	}
	return wanted, true, a.checkPatched(wanted.Object)
}

// appliedNew returns a function that returns the object to create if an Apply finds none. It returns nil for a
// subresource, whose object must exist, unless updates of the kind may create (a real server creates Services through
// their status) or an apply to this subresource may.
func (a attempt) appliedNew(change Apply) func() (newObject, error) {
	if name := a.request.Subresource; name != "" {
		s := a.version.Subresource[name]
		if !(s != nil && s.AppliedCreates) && (a.projection != nil || !a.updateStrategy().AllowCreateOnUpdate(a.ctx)) {
			return nil
		}
	}
	return func() (newObject, error) {
		obj, err := a.merge(change, resource.Decoded{Object: a.version.Codec.New()})
		if err != nil {
			return newObject{}, err
		}
		metadata, err := meta.Accessor(obj.Object)
		if err != nil {
			return newObject{}, err
		}
		if uid := metadata.GetUID(); uid != "" {
			return newObject{}, apierrors.NewConflict(a.version.Resource.GroupResource(), a.request.Name,
				fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
		}
		return newObject{Decoded: obj, managed: true, owners: afterAdmission}, a.checkPath(metadata)
	}
}

// merge merges an apply configuration into an object, and returns a new object.
func (a attempt) merge(change Apply, into resource.Decoded) (resource.Decoded, error) {
	configuration, flawless, err := parseConfiguration(change.Body)
	if err != nil {
		return resource.Decoded{}, err
	}
	if err := a.isBoundedMap(configuration); err != nil {
		return resource.Decoded{}, err
	}
	obj, err := a.applyFields(into, configuration, change.Force)
	a.observe.Merged(a.shownAs(), into.Object, configuration.Object, obj.Object, err)
	if err != nil {
		return resource.Decoded{}, err
	}
	if flawless || !reportsStrictErrors(change.Validation) {
		return obj, nil
	}
	if err := yaml.UnmarshalStrict(change.Body, &map[string]any{}); err != nil {
		if rejectsStrictErrors(change.Validation) {
			return resource.Decoded{}, apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", err))
		}
		warnStrictErrors(a.ctx, err)
	}
	return obj, nil
}

// parseConfiguration reads an apply configuration, which is YAML. flawless: strict decoding finds no mistake. Most
// configurations are JSON, which takes a tenth of the time to read as JSON, and means the same in YAML unless strings or
// numbers are unusual.
func parseConfiguration(body []byte) (u *unstructured.Unstructured, flawless bool, err error) {
	u = &unstructured.Unstructured{Object: map[string]any{}}
	if isPlainYAML(body) {
		if obj, ok := json.Decode(string(body)); ok && !hasFloats(obj) {
			u.Object = obj
			return u, true, nil
		}
		if complaints, err := kjson.UnmarshalStrict(body, &u.Object); err == nil && len(complaints) == 0 && !hasFloats(u.Object) {
			return u, true, nil
		}
	}
	u.Object = map[string]any{}
	if err := yaml.Unmarshal(body, &u.Object); err != nil {
		return nil, false, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	return u, false, nil
}

// isPlainYAML reports whether the strings of a JSON text are the same if it is read as YAML.
// Outside ASCII, YAML has other line breaks, and it does not have surrogate pairs.
func isPlainYAML(body []byte) bool {
	for i, c := range body {
		switch {
		case c < ' ' && c != '\n' && c != '\r' && c != '\t', c > '~':
			return false
		case c == '\\' && i+1 < len(body) && (body[i+1] == 'u' || body[i+1] == '/'):
			return false
		}
	}
	return true
}

// hasFloats reports whether a value contains a float64. For YAML, 1.0 and 1 are the same.
func hasFloats(value any) bool {
	switch value := value.(type) {
	case float64:
		return true
	case map[string]any:
		for _, v := range value {
			if hasFloats(v) {
				return true
			}
		}
	case []any:
		for _, v := range value {
			if hasFloats(v) {
				return true
			}
		}
	}
	return false
}
