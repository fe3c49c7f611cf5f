package view

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"

	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// gadgets is a custom kind with columns and selectable fields. Its version v2 has a default
// that v1 does not have.
const gadgets = `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
	"metadata": {"name": "gadgets.example.com", "uid": "5c6b", "resourceVersion": "7"},
	"spec": {
		"group": "example.com", "scope": "Namespaced",
		"names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
		"versions": [
			{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
				"selectableFields": [{"jsonPath": ".spec.color"}],
				"additionalPrinterColumns": [
					{"name": "Color", "type": "string", "jsonPath": ".spec.color"},
					{"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
					{"name": "Since", "type": "date", "jsonPath": ".spec.since"},
					{"name": "Parts", "type": "string", "jsonPath": ".spec.parts"},
					{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
				]},
			{"name": "v2", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"made": {"type": "string", "default": "here"}}}}}},
				"additionalPrinterColumns": [{"name": "First", "type": "string", "jsonPath": ".spec.parts[0]"}]}
		],
		"conversion": {"strategy": "None"}
	},
	"status": {"acceptedNames": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
		"conditions": [{"type": "Established", "status": "True"}], "storedVersions": ["v1"]}
}`

// gadget is the version of the custom kind.
func gadget(t testing.TB, version string) *resource.Version {
	t.Helper()
	record := store.Record{Key: crd.DefinitionsPrefix + "gadgets.example.com", Value: gadgets, Revision: 7}
	obj, err := crd.Definitions(false).Storage.Codec.DecodeStored(record)
	if err != nil {
		t.Fatal(err)
	}
	d, err := crd.Compile(record, obj.(*apiextensions.CustomResourceDefinition), crd.Outside{})
	if err != nil {
		t.Fatal(err)
	}
	return d.Resource.Version(version)
}

// configMap is the version of a kind with Go types.
func configMap(t testing.TB) *resource.Version {
	t.Helper()
	for _, r := range builtin.Resources(builtin.Options{}, nil) {
		if r.Names.Kind == "ConfigMap" {
			return r.Storage
		}
	}
	t.Fatal("no ConfigMaps")
	return nil
}

// stored is a record of an object, as the server would have stored it at a revision.
func stored(t testing.TB, v *resource.Version, obj map[string]any, revision int64) store.Record {
	t.Helper()
	metadata := obj["metadata"].(map[string]any)
	metadata["resourceVersion"] = fmt.Sprint(revision)
	obj["apiVersion"], obj["kind"] = v.GroupVersion().String(), v.Resource.Names.Kind
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	decoded, _, err := v.Codec.Decode(text, v.Serializer.SupportedMediaTypes()[0].Serializer)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := v.Codec.EncodeToStore(decoded)
	if err != nil {
		t.Fatal(err)
	}
	namespace, _ := metadata["namespace"].(string)
	return store.Record{
		Key: v.Resource.Key(namespace, metadata["name"].(string)), Value: string(encoded.Text), Tag: v.Identity,
		Index: Labels(string(encoded.Text)), Revision: revision,
	}
}

// random makes objects at random.
type random struct{ *rand.Rand }

// oneOf is one of the values.
func oneOf[T any](r random, values ...T) T { return values[r.IntN(len(values))] }

// maybe adds a value to a map, in most cases or rarely.
func (r random) maybe(into map[string]any, name string, value any) {
	if r.IntN(3) > 0 {
		into[name] = value
	}
}

func (r random) text() string {
	return oneOf(r, "a", "b", "<&>", "tab\t", "ü", "\u2028", `"quoted"`, "10", "")
}

func (r random) texts() map[string]any {
	values := map[string]any{}
	for range r.IntN(4) {
		values[oneOf(r, "app", "tier", "example.com/kind", "application", "a<b")] = r.text()
	}
	return values
}

// metadata is metadata that a server could have stored.
func (r random) metadata() map[string]any {
	m := map[string]any{"name": oneOf(r, "a", "b", "with-a-long-name"), "namespace": "default", "uid": "5c6b", "creationTimestamp": "2026-01-02T03:04:05Z", "generation": int64(1 + r.IntN(3))}
	r.maybe(m, "labels", map[string]any{"app": oneOf(r, "x", "y", "app"), "tier": "app"})
	r.maybe(m, "annotations", r.texts())
	r.maybe(m, "finalizers", oneOf(r, []any{}, []any{"a.example.com/x"}, []any{"b", "c"}))
	if r.IntN(4) == 0 {
		m["deletionTimestamp"], m["deletionGracePeriodSeconds"] = "2026-01-02T03:04:06Z", int64(r.IntN(3))
	}
	owner := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1"}
	r.maybe(owner, "controller", r.IntN(2) == 0)
	r.maybe(owner, "blockOwnerDeletion", r.IntN(2) == 0)
	r.maybe(m, "ownerReferences", []any{owner})
	fields := map[string]any{"f:spec": map[string]any{".": map[string]any{}, `k:{"a":"<b>"}`: map[string]any{}, "f:ü": map[string]any{}}}
	entry := map[string]any{"manager": r.text(), "operation": "Update", "apiVersion": "example.com/v1", "time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1", "fieldsV1": fields}
	r.maybe(entry, "subresource", oneOf(r, "status", ""))
	r.maybe(m, "managedFields", []any{entry, entry}[:1+r.IntN(2)])
	return m
}

// gadget is an object of the custom kind.
func (r random) gadget() map[string]any {
	spec := map[string]any{}
	r.maybe(spec, "color", oneOf[any](r, "red", "green", "", "<", nil, int64(3)))
	r.maybe(spec, "size", oneOf[any](r, int64(0), int64(12), 1.5, "large"))
	r.maybe(spec, "since", oneOf[any](r, "2026-01-02T03:04:05Z", "nonsense", int64(1)))
	r.maybe(spec, "parts", oneOf[any](r, []any{"a", "b"}, []any{}, map[string]any{"x": int64(1)}))
	obj := map[string]any{"metadata": r.metadata(), "spec": spec}
	if r.IntN(10) == 0 {
		obj["items"] = []any{map[string]any{"metadata": map[string]any{"name": "inner"}}}
	}
	return obj
}

// expect compares and shows what differs.
func expect(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// lines are the lines of a text, for a readable difference.
func lines(text string) []string {
	return strings.SplitAfter(strings.ReplaceAll(text, ",", ",\n"), "\n")
}
