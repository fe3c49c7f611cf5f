package crd

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// MergePatch implements resource.Patches.Merge: it applies RFC 7386 to maps, without encoding to JSON. It processes only
// what the patch changes.
func (c *codec) MergePatch(current resource.Decoded, patch map[string]any, reportUnknown bool) (resource.Decoded, error) {
	stored := current.Object.(*unstructured.Unstructured).Object
	u := &unstructured.Unstructured{Object: mergeMaps(stored, patch)}
	if _, patched := patch["metadata"]; !patched {
		ownMetadata(u.Object)
	}
	found, err := c.coerce(u, coerceOptions{reportUnknown: reportUnknown, setDefaults: true, ask: requiredFacts, like: stored, likeFacts: current.Facts})
	if err != nil {
		return resource.Decoded{}, err
	}
	decoded := resource.Decoded{Object: u, Facts: found.Parts}
	if len(found.Unknown) == 0 {
		return decoded, nil
	}
	complaints := make([]error, len(found.Unknown))
	for i, field := range found.Unknown {
		complaints[i] = fmt.Errorf("unknown field %q", field)
	}
	return decoded, runtime.NewStrictDecodingError(complaints)
}

// ownMetadata replaces the metadata map of an object by a shallow copy, because the pipeline sets fields in it.
func ownMetadata(obj map[string]any) {
	if m, ok := obj["metadata"].(map[string]any); ok {
		obj["metadata"] = maps.Clone(m)
	}
}

// mergeMaps returns the document with the JSON merge patch (RFC 7386) merged into it. The result shares parts
// with both. mergeMaps may alter the patch, but not the document.
func mergeMaps(document, patch map[string]any) map[string]any {
	merged := make(map[string]any, len(document)+len(patch))
	for key, value := range document {
		if _, patched := patch[key]; !patched {
			merged[key] = value
		}
	}
	for key, value := range patch {
		switch value := value.(type) {
		case nil: // removes the key
		case map[string]any:
			old, _ := document[key].(map[string]any)
			merged[key] = mergeMaps(old, value)
		default:
			// As the patch library does, keep nulls in a value that replaces an object.
			if _, ok := document[key].(map[string]any); ok {
				merged[key] = value
			} else {
				json.DropNulls(value)
				merged[key] = value
			}
		}
	}
	return merged
}
