package schema

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/fakecluster/fakecluster/internal/metadata"
)

// isCanonicalResource reports whether reading the fields that every resource has and writing
// them back would change nothing.
func isCanonicalResource(obj map[string]any) bool {
	for _, name := range []string{"apiVersion", "kind"} {
		if value, ok := obj[name]; ok {
			if _, isText := value.(string); !isText {
				return false
			}
		}
	}
	value, ok := obj["metadata"]
	if !ok {
		return true
	}
	fields, ok := value.(map[string]any)
	return ok && len(fields) > 0 && metadata.IsCanonical(fields)
}

// isValidResource reports whether an embedded resource has an apiVersion, a kind and valid
// metadata. It returns false for metadata other than a name, a namespace, labels and
// annotations.
func isValidResource(obj map[string]any) bool {
	apiVersion, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	if apiVersion == "" || kind == "" || len(utilvalidation.IsDNS1035Label(strings.ToLower(kind))) > 0 {
		return false
	}
	if _, err := schema.ParseGroupVersion(apiVersion); err != nil {
		return false
	}
	value, ok := obj["metadata"]
	if !ok {
		return true
	}
	fields, ok := value.(map[string]any)
	for key, v := range fields {
		switch key {
		case "name":
			name, isText := v.(string)
			ok = ok && isText && metadata.IsSubdomain(name)
		case "namespace":
			namespace, isText := v.(string)
			ok = ok && isText && metadata.IsLabel(namespace)
		case "labels":
			ok = ok && metadata.AreValidLabels(v)
		case "annotations":
			ok = ok && metadata.AreValidAnnotations(v)
		default:
			return false
		}
	}
	return ok
}
