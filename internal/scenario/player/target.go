package player

import (
	"fmt"
	"strings"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// target is the target of a request: a path that the author wrote, or an object or
// collection by kind.
type target struct {
	path string

	apiVersion, kind, namespace, name string
	// everywhere: an empty namespace means all namespaces, not the default one.
	everywhere bool
	// ofManifest: a manifest describes the object.
	ofManifest bool
	// subresource is the name of a subresource of the object, or empty.
	subresource string
	// resource is the plural of the kind, once it has been looked up.
	resource string
	// invalid is the message about a field of a reference that is not a string; empty: there is none.
	invalid string
}

func targetOfManifest(manifest map[string]any) target {
	metadata, _ := manifest["metadata"].(map[string]any)
	t := target{ofManifest: true}
	t.apiVersion, _ = manifest["apiVersion"].(string)
	t.kind, _ = manifest["kind"].(string)
	t.namespace, _ = metadata["namespace"].(string)
	t.name, _ = metadata["name"].(string)
	return t
}

func targetOfReference(reference map[string]any) target {
	var t target
	for _, field := range []string{"path", "apiVersion", "kind", "namespace", "name"} {
		switch value := reference[field].(type) {
		case nil, string, syntax.Absent:
		default:
			t.invalid = fmt.Sprintf("%s must be a string, not %s", field, typeName(value))
		}
	}
	t.path, _ = reference["path"].(string)
	t.apiVersion, _ = reference["apiVersion"].(string)
	t.kind, _ = reference["kind"].(string)
	t.namespace, _ = reference["namespace"].(string)
	t.name, _ = reference["name"].(string)
	return t
}

// String is the object's key as Kubernetes' own messages have it, with the
// namespace before the name: crontabs.stable.example.com default/my-cron.
func (t target) String() string {
	if t.path != "" {
		return t.path
	}
	group, _, _ := strings.Cut(t.apiVersion, "/")
	if group == t.apiVersion {
		group = "" // the core group has a version only
	}
	words := t.resource
	if words == "" {
		words = t.kind
	}
	if group != "" {
		words += "." + group
	}
	if t.subresource != "" {
		words += "/" + t.subresource
	}
	switch {
	case t.namespace != "" && t.name != "":
		return words + " " + t.namespace + "/" + t.name
	case t.name != "":
		return words + " " + t.name
	case t.namespace != "":
		return words + " in " + t.namespace
	}
	return words
}

// typeName returns the type of a value that is not a string, for messages.
func typeName(value any) string {
	switch value.(type) {
	case map[string]any:
		return "a mapping"
	case []any:
		return "a list"
	case bool:
		return "true or false"
	}
	return "a number"
}
