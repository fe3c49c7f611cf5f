package crd

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// MergePatch implements resource.Patches.Merge: it applies RFC 7386 to maps, without encoding to JSON. It processes only
// what the patch changes.
func (c *codec) MergePatch(current resource.Decoded, body []byte, reportUnknown bool) (resource.Decoded, bool) {
	patch, ok := decodePatch(body)
	if !ok {
		return resource.Decoded{}, false
	}
	stored := current.Object.(*unstructured.Unstructured).Object
	u := &unstructured.Unstructured{Object: mergeMaps(stored, patch)}
	if _, patched := patch["metadata"]; !patched {
		ownMetadata(u.Object)
	}
	found, err := c.coerce(u, coerceOptions{reportUnknown: reportUnknown, setDefaults: true, ask: requiredFacts, like: stored, likeFacts: current.Facts})
	return resource.Decoded{Object: u, Facts: found.Parts}, err == nil && len(found.Unknown) == 0
}

// decodePatch reads a merge patch. ok is false if it is not an object, if it has duplicate fields, or if it changes the
// kind.
func decodePatch(body []byte) (patch map[string]any, ok bool) {
	patch, plain := json.Decode(string(body))
	if !plain {
		patch = nil
		if duplicates, err := kjson.UnmarshalStrict(body, &patch); err != nil || len(duplicates) > 0 || patch == nil {
			return nil, false
		}
	}
	for _, key := range []string{"apiVersion", "kind"} {
		if _, ok := patch[key]; ok {
			return nil, false
		}
	}
	return patch, true
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
