package metadata

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

func TestCanonicalMetadataIsUnchanged(t *testing.T) {
	r := seedtest.Rand(t)
	pick := func(values ...any) any { return values[r.IntN(len(values))] }
	canonical := 0
	for range 20_000 {
		metadata := map[string]any{}
		set := func(key string, values ...any) {
			if r.IntN(2) == 0 {
				metadata[key] = pick(values...)
			}
		}
		set("name", "a", "b", "c", "")
		set("namespace", "n", "default")
		set("labels", map[string]any{"a": "b"}, map[string]any{"a": ""}, map[string]any{})
		set("annotations", map[string]any{"a": "b"}, map[string]any{"a": int64(1)})
		set("creationTimestamp", "2020-01-02T03:04:05Z", "2020-02-28T23:59:59Z", nil, "2020-02-30T00:00:00Z", "2020-01-02T24:00:00Z", "0001-01-01T00:00:00Z")
		set("generation", int64(1), int64(2), int64(0))
		set("finalizers", []any{"a/b"}, []any{})
		set("ownerReferences", []any{map[string]any{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u", "controller": true}},
			[]any{map[string]any{"apiVersion": "v1", "kind": "K", "name": "n"}})
		set("managedFields", []any{map[string]any{"manager": "m", "operation": "Update", "apiVersion": "v1", "time": "2020-01-02T03:04:05Z",
			"fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:a": map[string]any{".": map[string]any{}}}}})
		if !IsCanonical(metadata) {
			continue
		}
		canonical++
		obj := map[string]any{"metadata": runtime.DeepCopyJSON(metadata)}
		typed, _, _, err := objectmeta.GetObjectMetaWithOptions(obj, objectmeta.ObjectMetaOptions{})
		if err != nil {
			t.Fatalf("%v: %v", metadata, err)
		}
		if err := objectmeta.SetObjectMeta(obj, typed); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(metadata, obj["metadata"]); diff != "" && len(metadata) > 0 {
			t.Fatalf("canonical metadata changes (-before +after):\n%s", diff)
		}
	}
	if canonical < 100 {
		t.Fatalf("%d are canonical: the test shows nothing", canonical)
	}
}
