package write_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
	"github.com/fakecluster/fakecluster/internal/write"
)

// factsSchema has something of everything: types, defaults (of the status, and one with a
// null), sets and lists that are maps, unknown fields, embedded resources, rules.
const factsSchema = `{"type": "object", "required": ["spec"], "properties": {
	"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}},
	"spec": {"type": "object",
		"x-kubernetes-validations": [{"rule": "!has(self.replicas) || !has(oldSelf.replicas) || self.replicas != oldSelf.replicas + 2"}],
		"properties": {
		"replicas": {"type": "integer", "minimum": 0, "maximum": 4, "default": 1},
		"color": {"type": "string", "enum": ["red", "green", "blue"]},
		"size": {"type": "string", "nullable": true},
		"set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 2}},
		"ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "required": ["name"], "properties": {
			"name": {"type": "string"}, "port": {"type": "integer", "default": 80}}}},
		"nested": {"type": "object", "default": {"a": null, "b": 1}, "properties": {
			"a": {"type": "string", "minLength": 2}, "b": {"type": "integer"}, "c": {"type": "object", "additionalProperties": {"type": "boolean"}}}},
		"free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		"whole": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}},
	"status": {"type": "object", "default": {"phase": "New"}, "properties": {
		"phase": {"type": "string", "enum": ["New", "Old"], "default": "Old"},
		"replicas": {"type": "integer", "maximum": 2},
		"conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], "items": {"type": "object", "required": ["type"], "properties": {
			"type": {"type": "string"}, "status": {"type": "string", "default": "False"}}}}}}}}`

// forgetful is a codec that returns no facts about its objects, and which shares nothing.
type forgetful struct{ resource.Codec }

func (f forgetful) Decode(body []byte, s runtime.Serializer) (resource.Decoded, *runtimeschema.GroupVersionKind, error) {
	obj, kind, err := f.Codec.Decode(body, s)
	return resource.Decoded{Object: obj.Object}, kind, err
}

func (f forgetful) DecodePatched(text []byte, s runtime.Serializer) (resource.Decoded, error) {
	obj, err := f.Codec.DecodePatched(text, s)
	return resource.Decoded{Object: obj.Object}, err
}

func (f forgetful) EncodeToStore(obj resource.Decoded) (resource.Encoded, error) {
	encoded, err := f.Codec.EncodeToStore(resource.Decoded{Object: obj.Object.DeepCopyObject()})
	encoded.Stored = resource.Decoded{}
	return encoded, err
}

// Facts about objects change only the time that a write takes: random writes
// end as they do where each stage looks at the whole object anew.
func TestFactsAboutAnObjectDoNotChangeAWrite(t *testing.T) {
	r := seedtest.Rand(t)
	knowing, forgetting := newBench(t), newBench(t)
	forgetting.forget = func(v *resource.Version) {
		v.Codec, v.Informed, v.MetadataIsValid, v.Patches.Merge = forgetful{v.Codec}, nil, nil, nil
		for _, s := range v.Subresource {
			s.Informed = nil
		}
	}
	from, to := strings.Index(definition, `"openAPIV3Schema": `)+len(`"openAPIV3Schema": `), strings.Index(definition, "}\n\t\t}]")
	both := []*bench{knowing, forgetting}
	for _, b := range both {
		b.put(crd.DefinitionsPrefix+"widgets.example.com", definition[:from]+factsSchema+definition[to:])
	}
	versions := []*resource.Version{knowing.widgets(), forgetting.widgets()}
	committed, refused := 0, 0
	for n := range 1500 {
		next := randomWrite(r)
		mutates, metadata := r.IntN(8) == 0, oddMetadata(r)
		var outcomes [2][2]string
		for i, b := range both {
			b.mutate = nil
			if mutates {
				b.mutate = func(w *admission.Write) error {
					u, ok := w.GetObject().(*unstructured.Unstructured)
					if !ok {
						return nil
					}
					u = u.DeepCopy()
					_ = unstructured.SetNestedField(u.Object, "aa", "spec", "unknown")
					_ = unstructured.SetNestedField(u.Object, "aaa"[:n%4], "spec", "nested", "a")
					for key, value := range metadata {
						_ = unstructured.SetNestedField(u.Object, value, "metadata", key)
					}
					return w.Replace(u)
				}
			}
			outcomes[i] = b.outcome(versions[i], next)
		}
		if diff := cmp.Diff(outcomes[1], outcomes[0]); diff != "" {
			t.Fatalf("write %d, %s (-knowing nothing +knowing):\n%s", n, next, diff)
		}
		if outcomes[0][0] == "" {
			committed++
		} else {
			refused++
		}
	}
	if t.Logf("%d writes committed, %d refused", committed, refused); committed < 150 || refused < 150 {
		t.Error("the test shows little")
	}
}

// oddMetadata returns a field of the metadata that admission sets, or none.
func oddMetadata(r *rand.Rand) map[string]any {
	odd := []map[string]any{
		{"name": "b"}, {"name": ""}, {"name": "", "generateName": "g-"}, {"generateName": "g-"}, {"namespace": "elsewhere"}, {"namespace": ""}, {"namespace": nil},
		{"uid": "u"}, {"deletionTimestamp": "2001-01-01T00:00:00Z"}, {"deletionGracePeriodSeconds": int64(7)}, {"creationTimestamp": "2001-01-01T00:00:00Z"},
		{"creationTimestamp": nil}, {"selfLink": "/x"}, {"generation": int64(7)}, {"resourceVersion": "5"}, {"resourceVersion": "abc"}, {"finalizers": []any{}},
		{"finalizers": nil}, {"ownerReferences": nil}, {"labels": nil}, {"annotations": map[string]any{}},
	}
	if n := r.IntN(2 * len(odd)); n < len(odd) {
		return odd[n]
	}
	return nil
}

// randomly is a write that a bench makes.
type randomly struct {
	verb, subresource string
	part              map[string]any // what to set
	number            int
}

func (w randomly) String() string {
	text, _ := json.Marshal(w.part)
	return fmt.Sprint(w.verb, " ", w.subresource, " ", string(text))
}

func randomWrite(r *rand.Rand) randomly {
	// What stands first is valid, and taken most of the time.
	pick := func(from ...any) any {
		if r.IntN(3) > 0 {
			return from[r.IntN(min(2, len(from)))]
		}
		return from[r.IntN(len(from))]
	}
	spec := map[string]any{}
	fields := map[string]any{
		"replicas": pick(int64(1), nil, int64(0), int64(2), int64(3), int64(5), "x"),
		"color":    pick("red", "green", "pink", nil),
		"size":     pick("s", nil),
		"set":      pick([]any{"a", "b"}, []any{"b"}, []any{"a", "a"}, []any{"abc"}, nil),
		"ports":    pick([]any{map[string]any{"name": "a"}, map[string]any{"name": "b", "port": int64(1)}}, nil, []any{map[string]any{"name": "a"}, map[string]any{"name": "a"}}, []any{map[string]any{}}),
		"nested":   pick(map[string]any{"a": "aa"}, map[string]any{"c": map[string]any{"x": true, "y": nil}}, map[string]any{"a": "b"}, map[string]any{"b": int64(2)}, nil),
		"free":     pick(map[string]any{"x": 1.5, "y": nil}, map[string]any{"z": []any{nil, 2.0}}, nil),
		"whole": pick(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"}},
			map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"creationTimestamp": nil}}, map[string]any{"kind": "Pod"}, nil),
		"unknown": pick(nil, nil, "x"),
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if r.IntN(6) == 0 {
			spec[name] = fields[name]
		}
	}
	status := map[string]any{}
	fields = map[string]any{
		"phase": pick("New", nil, "Older"), "replicas": pick(int64(1), int64(2), int64(3)),
		"conditions": pick([]any{map[string]any{"type": "a"}}, []any{map[string]any{"type": "a", "status": "True"}, map[string]any{"type": "b"}}, []any{map[string]any{"type": "a"}, map[string]any{"type": "a"}}),
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if r.IntN(3) == 0 {
			status[name] = fields[name]
		}
	}
	w := randomly{part: map[string]any{}, number: r.IntN(1000)}
	verbs := []string{"create", "create", "replace", "replace", "merge", "merge", "merge", "json", "apply"}
	w.verb = verbs[r.IntN(len(verbs))]
	if r.IntN(40) == 0 {
		w.verb = "delete"
	}
	if r.IntN(3) == 0 && w.verb != "create" && w.verb != "delete" {
		w.subresource = "status"
	}
	if r.IntN(4) > 0 {
		w.part["spec"] = spec
	}
	if r.IntN(2) == 0 || w.subresource != "" {
		w.part["status"] = status
	}
	if r.IntN(4) == 0 {
		w.part["metadata"] = map[string]any{"labels": map[string]any{"l": pick("a", "b", "c", "-")}}
	}
	return w
}

// outcome makes a write, and returns its error and what is stored afterwards.
func (b *bench) outcome(v *resource.Version, w randomly) [2]string {
	b.t.Helper()
	key := v.Resource.Key("default", "a")
	record, err := b.Store.Get(key)
	current := map[string]any{"spec": map[string]any{}}
	if err == nil {
		if err := json.Unmarshal([]byte(record.Value), &current); err != nil {
			b.t.Fatal(err)
		}
	}
	part, _ := json.Marshal(w.part)
	for name, value := range w.part {
		if fields, ok := current[name].(map[string]any); ok && w.verb != "merge" {
			for name, value := range value.(map[string]any) {
				fields[name] = value
			}
		} else {
			current[name] = value
		}
	}
	whole, _ := json.Marshal(current)
	var change write.Change
	switch w.verb {
	case "create":
		change = write.Create{Object: b.widget(string(part))}
	case "replace":
		change = write.Replace{Object: b.widget(string(whole))}
	case "merge":
		change = write.Patch{Type: types.MergePatchType, Body: part, Validation: metav1.FieldValidationStrict}
	case "json":
		value, _ := json.Marshal(w.part["spec"])
		change = write.Patch{Type: types.JSONPatchType, Body: fmt.Appendf(nil, `[{"op":"add","path":"/spec","value":%s}]`, value)}
	case "apply":
		w.part["apiVersion"], w.part["kind"] = "example.com/v1", "Widget"
		body, _ := json.Marshal(w.part)
		change = write.Apply{Body: body, Force: true}
	case "delete":
		change = write.Delete{Options: &metav1.DeleteOptions{}}
	}
	_, err = b.Run(b.t.Context(), write.Request{
		Version: v, Namespace: "default", Name: "a", Subresource: w.subresource, Change: change, Manager: "tester",
	})
	var outcome [2]string
	if err != nil {
		lines := strings.Split(err.Error(), "\n") // in no order
		outcome[0] = strings.Join(slices.Sorted(slices.Values(lines)), "\n")
		// Upstream's reading of a configuration stops at the first unknown field, and it goes
		// through the fields in no order.
		if unread := "failed to create typed patch object"; strings.Contains(err.Error(), unread) {
			outcome[0] = unread
		}
		var refusal apierrors.APIStatus
		if errors.As(err, &refusal) && refusal.Status().Details != nil && len(refusal.Status().Details.Causes) > 1 {
			var causes []string // neither are they
			for _, c := range refusal.Status().Details.Causes {
				causes = append(causes, fmt.Sprint(c))
			}
			outcome[0] = strings.Join(slices.Sorted(slices.Values(causes)), "\n")
		}
	}
	if record, err := b.Store.Get(key); err == nil {
		outcome[1] = secondsOfManagers.ReplaceAllString(record.Value, `"time":""`)
	}
	return outcome
}

// secondsOfManagers matches the times in managedFields. Upstream takes them from the clock of the process, which may begin
// another second between the two writes.
var secondsOfManagers = regexp.MustCompile(`"time":"[^"]*"`)
