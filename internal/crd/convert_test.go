package crd

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
	"github.com/fakecluster/fakecluster/store"
)

func TestAViewInAnotherVersionOfTheSameSchemaIsWhatConversionMakes(t *testing.T) {
	v1, _ := shortcutVersion(t, "  - name: v1\n", "  - &v1\n    name: v1\n", "status:\n  acceptedNames", `  - {<<: *v1, name: v2, storage: false}
  - name: v3
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
status:
  acceptedNames`)
	v2, v3 := v1.Resource.Version("v2").Codec.(*codec), v1.Resource.Version("v3").Codec.(*codec)
	c, r := v1.Codec.(*codec), seedtest.Rand(t)
	for range 5_000 {
		u := &unstructured.Unstructured{Object: seedtest.Object(r, 3)}
		u.Object["apiVersion"], u.Object["kind"] = "example.com/v1", "Thing"
		u.Object["metadata"] = map[string]any{"name": "a", "labels": []any{map[string]any{}, map[string]any{"a": "b"}, nil}[r.IntN(3)]}
		body, err := json.Marshal(u.Object)
		if err != nil {
			t.Fatal(err)
		}
		obj, _, err := c.Decode(body, mediaTypes[0].StrictSerializer)
		if _, strict := runtime.AsStrictDecodingError(err); err != nil && !strict {
			t.Fatal(err)
		}
		obj.Object.(*unstructured.Unstructured).SetGeneration(1)
		encoded, err := c.EncodeToStore(obj)
		if err != nil {
			t.Fatal(err)
		}
		record := store.Record{Value: encoded.Text, Tag: v1.Identity}
		got, ok := v2.View(record)
		converted, err := v2.DecodeStored(record)
		if err != nil {
			t.Fatal(err)
		}
		want, err := v2.Encode(converted)
		if err != nil {
			t.Fatal(err)
		}
		// A field that sorts before apiVersion is the one thing that is not seen through.
		if _, early := obj.Object.(*unstructured.Unstructured).Object["a"]; ok == early || ok && got != string(want) {
			t.Fatalf("%s\n got %s\nwant %s", encoded.Text, got, want)
		}
		if _, ok := v3.View(record); ok {
			t.Fatal("a version with another schema is shown without conversion")
		}
		record.Tag = "v1/0"
		if _, ok := v2.View(record); ok {
			t.Fatal("an object of an earlier schema is shown without conversion")
		}
	}
}

// BenchmarkNoneConversion shows one object in another version without a webhook: one
// with the schema that it was written under, and one with a schema of its own, for
// which the decoded object is converted and pruned.
func BenchmarkNoneConversion(b *testing.B) {
	v1, _ := shortcutVersion(b, "  - name: v1\n", "  - &v1\n    name: v1\n", "status:\n  acceptedNames", `  - {<<: *v1, name: v2, storage: false}
  - name: v3
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
status:
  acceptedNames`)
	obj, _, err := v1.Codec.Decode([]byte(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a","labels":{"a":"b"}},"spec":{"cronSpec":"* * * * */5","image":"my-awesome-cron-image","replicas":3}}`), mediaTypes[0].Serializer)
	if err != nil {
		b.Fatal(err)
	}
	encoded, err := v1.Codec.EncodeToStore(obj)
	if err != nil {
		b.Fatal(err)
	}
	record := store.Record{Value: encoded.Text, Tag: v1.Identity}
	b.Run("the same schema", func(b *testing.B) {
		b.ReportAllocs()
		c := v1.Resource.Version("v2").Codec.(*codec)
		for b.Loop() {
			if _, ok := c.View(record); !ok {
				b.Fatal("no view")
			}
		}
	})
	b.Run("another schema", func(b *testing.B) {
		b.ReportAllocs()
		c, u := v1.Resource.Version("v3").Codec.(*codec), obj.Object.(*unstructured.Unstructured)
		for to := "v3"; b.Loop(); {
			if _, err := c.convert(u, to); err != nil {
				b.Fatal(err)
			}
			to = map[string]string{"v1": "v3", "v3": "v1"}[to]
		}
	})
}
