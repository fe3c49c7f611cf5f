package view

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
	"github.com/fakecluster/fakecluster/store"
)

var partialKind = &schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadata"}

// decodedMetadata is what partialMetadata is a short way for.
func decodedMetadata(v *resource.Version, text string) (string, error) {
	obj, err := v.Codec.DecodeStored(store.Record{Value: text})
	if err != nil {
		return "", err
	}
	partial, err := (&View{version: v, form: Form{Convert: partialKind}}).partial(obj)
	if err != nil {
		return "", err
	}
	out, err := json.Marshal(partial.ObjectMeta)
	return string(out), err
}

func TestMetadataAsStoredIsReorderedAsDecodingWould(t *testing.T) {
	r := random{seedtest.Rand(t)}
	v := gadget(t, "v1")
	declined := 0
	for range 3000 {
		text := stored(t, v, r.gadget(), 8).Value
		got, ok := partialMetadata(text, v.Typed)
		if !ok {
			declined++
			continue
		}
		want, err := decodedMetadata(v, text)
		if err != nil || got != want {
			t.Fatalf("of %s:\ngot  %s\nwant %s, %v", text, got, want, err)
		}
	}
	if declined > 0 {
		t.Errorf("%d of 3000 objects as the server stores them were declined", declined)
	}
}

// The short way declines whatever decoding would change.
func TestOddMetadataIsDeclinedOrReorderedAsDecodingWould(t *testing.T) {
	r := random{seedtest.Rand(t)}
	v := gadget(t, "v1")
	values := []any{nil, "", "a", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.5Z", "2026-01-02T05:04:05+02:00", "0001-01-01T00:00:00Z",
		int64(0), int64(-1), int64(5), 1.5, 1e30, true, false, []any{}, []any{"a"}, []any{int64(1)}, []any{nil}, map[string]any{}, map[string]any{"a": "b"}, map[string]any{"a": int64(1)},
		[]any{map[string]any{}}, []any{map[string]any{"name": "x", "extra": "y"}}}
	names := []string{"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers", "managedFields", "clusterName", "Name"}
	taken := 0
	for range 10_000 {
		metadata := r.metadata()
		part := metadata
		if owners, ok := metadata["ownerReferences"].([]any); ok && r.IntN(4) == 0 {
			part = owners[0].(map[string]any)
			names := []string{"apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion", "more"}
			part[oneOf(r, names...)] = oneOf(r, values...)
		} else if entries, ok := metadata["managedFields"].([]any); ok && r.IntN(4) == 0 {
			part = entries[0].(map[string]any)
			names := []string{"manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource", "more"}
			part[oneOf(r, names...)] = oneOf(r, values...)
		}
		for range r.IntN(3) {
			metadata[oneOf(r, names...)] = oneOf(r, values...)
		}
		if r.IntN(5) == 0 {
			delete(part, oneOf(r, names...))
		}
		text, err := json.Marshal(map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": metadata})
		if err != nil {
			t.Fatal(err)
		}
		got, ok := partialMetadata(string(text), false)
		if !ok {
			continue
		}
		taken++
		if want, err := decodedMetadata(v, string(text)); err != nil || got != want {
			t.Fatalf("of %s:\ngot  %s\nwant %s, %v", text, got, want, err)
		}
	}
	t.Logf("%d of 10000 were not declined", taken)
}

func TestMetadataOfTypedObjectsIsAsItIsStored(t *testing.T) {
	r := random{seedtest.Rand(t)}
	v := configMap(t)
	for range 500 {
		text := stored(t, v, map[string]any{"metadata": r.metadata()}, 8).Value
		got, ok := partialMetadata(text, v.Typed)
		if want, err := decodedMetadata(v, text); !ok || err != nil || got != want {
			t.Fatalf("of %s:\ngot  %s\nwant %s, %v", text, got, want, err)
		}
	}
}
