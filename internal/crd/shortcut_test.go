package crd

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/schema"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
	"github.com/fakecluster/fakecluster/store"
)

// The shortcuts of this package say "as upstream would" of most objects without
// asking it. These tests ask, about random objects.

const shortcutDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com, uid: u}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [a]
        properties:
          a: {type: string, minLength: 1, maxLength: 3, pattern: "^[a-z]*$"}
          b: {type: integer, minimum: 1, maximum: 3}
          c: {type: number, maximum: 2}
          m: {type: integer, minimum: 1.5}
          d: {type: boolean, nullable: true}
          e: {type: string, enum: [x, yy]}
          f: {x-kubernetes-int-or-string: true}
          g: {type: array, maxItems: 2, items: {type: string}}
          h: {type: object, maxProperties: 2, additionalProperties: {type: integer}}
          i: {type: object, x-kubernetes-preserve-unknown-fields: true}
          j: {type: string, format: date}
          k: {type: array, x-kubernetes-list-type: set, items: {type: string}}
          l: {type: object, properties: {a: {type: string}, g: {type: array, items: {type: integer}}}}
          o: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: integer}}
          p: {x-kubernetes-preserve-unknown-fields: true, minItems: 2, minProperties: 1, maxItems: 1, maxProperties: 3}
          q: {type: object}
          r: {type: array, items: {type: object}}
          s: {type: object, additionalProperties: {type: object}}
          t: {type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}
          u: {type: number}
status:
  acceptedNames: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  conditions:
  - {type: NamesAccepted, status: "True"}
  - {type: Established, status: "True"}
  storedVersions: [v1]
`

// shortcutVersion compiles the definition, with some of its text replaced.
func shortcutVersion(t testing.TB, replace ...string) (*resource.Version, *apiextensions.JSONSchemaProps) {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(strings.NewReplacer(replace...).Replace(shortcutDefinition)))
	if err != nil {
		t.Fatal(err)
	}
	record := store.Record{Key: DefinitionsPrefix + "things.example.com", Value: string(text), Revision: 2}
	obj, err := Definitions(false).Storage.Codec.DecodeStored(record)
	if err != nil {
		t.Fatal(err)
	}
	definition, err := Compile(record, obj.(*apiextensions.CustomResourceDefinition), Outside{})
	if err != nil {
		t.Fatal(err)
	}
	var v1 apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(text, &v1); err != nil {
		t.Fatal(err)
	}
	var props apiextensions.JSONSchemaProps
	if v1.Spec.Versions[0].Schema == nil {
		return definition.Resource.Storage, nil
	}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil); err != nil {
		t.Fatal(err)
	}
	return definition.Resource.Storage, &props
}

func TestOwnershipIsWhatTheFieldManagerSays(t *testing.T) {
	ownershipIsWhatTheFieldManagerSays(t)
	for rule, replace := range unprunedDefinitions {
		t.Run(rule, func(t *testing.T) { ownershipIsWhatTheFieldManagerSays(t, replace...) })
	}
}

// unprunedDefinitions are what to replace in the definition, so that unknown fields
// are preserved.
var unprunedDefinitions = func() map[string][]string {
	preserving := []string{"  scope: Namespaced", "  scope: Namespaced\n  preserveUnknownFields: true"}
	return map[string][]string{
		"by a structural schema":            preserving,
		"by a schema that is not":           append(preserving, "a: {type: string, ", "a: {"),
		"by a schema without any such form": append(preserving, "required: [a]", "$schema: x"),
		"by no schema at all":               append(preserving, "required: [a]", "", "schema:\n", "x:\n"),
	}
}()

func ownershipIsWhatTheFieldManagerSays(t *testing.T, replace ...string) {
	v, props := shortcutVersion(t, replace...)
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(u *unstructured.Unstructured) bool { // what is not is refused, whichever manager owns it
		return len(validation.ValidateCustomResource(nil, u.Object, validator)) == 0
	}
	custom := v.FieldManager.(*customFields)
	manager, err := custom.upstream()
	if err != nil {
		t.Fatal(err)
	}
	engine := alone(custom)
	r := seedtest.Rand(t)
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	object := func() *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: seedtest.Object(r, 2)}
		u.Object["apiVersion"], u.Object["kind"] = "example.com/v1", "Thing"
		u.Object["metadata"] = map[string]any{"name": "a", "namespace": "b", "labels": map[string]any{fmt.Sprint("l", r.IntN(3)): "x"}}
		for _, prune := range []string{"k", "i"} {
			if r.IntN(2) == 0 {
				delete(u.Object, prune)
			}
		}
		return u
	}
	timeless := func(obj runtime.Object) any {
		m := runtime.DeepCopyJSON(obj.(*unstructured.Unstructured).Object)
		entries, _, _ := unstructured.NestedSlice(m, "metadata", "managedFields")
		for _, e := range entries {
			delete(e.(map[string]any), "time")
		}
		return entries
	}
	creates, updates := 0, 0
	for i := 0; i < 60_000 && (creates < 60 || updates < 60); i++ {
		u := object()
		if !valid(u) {
			continue
		}
		want := manager.UpdateNoErrors(v.Codec.New(), u.DeepCopy(), "m")
		got := u.DeepCopy()
		if _, _, err := engine.Update(resource.Decoded{Object: v.Codec.New()}, got, "m", now); err != nil {
			got = want.(*unstructured.Unstructured)
		} else {
			creates++
			if diff := cmp.Diff(timeless(want), timeless(got)); diff != "" {
				t.Fatalf("create of %v (-field manager +engine):\n%s", u.Object, diff)
			}
		}

		next := got.DeepCopy()
		if _, ok := next.Object["a"]; ok {
			next.Object["a"] = seedtest.Value(r, 0)
		}
		if !valid(next) {
			continue
		}
		wantNext := manager.UpdateNoErrors(got, next.DeepCopy(), "m")
		if _, _, err := engine.Update(resource.Decoded{Object: got}, next, "m", now); err == nil {
			updates++
			if diff := cmp.Diff(timeless(wantNext), timeless(next)); diff != "" {
				t.Fatalf("update of %v to %v (-field manager +engine):\n%s", got.Object, next.Object, diff)
			}
		}
	}
	if creates < 20 || updates < 20 {
		t.Fatalf("the engine declined all but %d creates and %d updates: the test shows nothing", creates, updates)
	}
}

// errDeclined is the outcome of a write that the engine leaves to upstream.
var errDeclined = errors.New("declined")

// alone is the engine without upstream to ask.
func alone(f *customFields) *customFields {
	return &customFields{f.codec, f.engine, func() (*managedfields.FieldManager, error) { return nil, errDeclined }}
}

func TestAMergePatchOfMapsIsWhatThePatchLibraryMakes(t *testing.T) {
	r := seedtest.Rand(t)
	for range seedtest.Cases(20_000) {
		document, patch := seedtest.Object(r, 2), seedtest.Object(r, 2)
		before, _ := json.Marshal(document)
		change, _ := json.Marshal(patch)
		after, err := jsonpatch.MergePatch(before, change)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := json.Unmarshal(after, &want); err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(mergeMaps(document, patch))
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("%s patched with %s (-library +maps):\n%s", before, change, cmp.Diff(want, got))
		}
		if now, _ := json.Marshal(document); string(now) != string(before) {
			t.Fatalf("patched with %s the document %s, which is shared, became %s", change, before, now)
		}
	}
}

// structuralOf is a schema, given as YAML.
func structuralOf(t testing.TB, schema string) *structuralschema.Structural {
	t.Helper()
	var v1 apiextensionsv1.JSONSchemaProps
	if err := yaml.Unmarshal([]byte(schema), &v1); err != nil {
		t.Fatal(err)
	}
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &props, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(&props)
	if err != nil {
		t.Fatal(err)
	}
	return structural
}

// embedded returns a resource whose metadata is not always as a server prints it.
func embedded(r *rand.Rand) map[string]any {
	metadata := map[string]any{"name": "a"}
	for _, name := range []string{"finalizers", "ownerReferences", "labels", "creationTimestamp"} {
		if r.IntN(3) == 0 {
			metadata[name] = nil
		}
	}
	return map[string]any{"apiVersion": "v1", "kind": "K", "metadata": metadata, "spec": seedtest.Object(r, 1)}
}

// stored returns what is read of an object after it has been stored.
func stored(t *testing.T, c *codec, obj runtime.Object) runtime.Object {
	t.Helper()
	u := obj.(*unstructured.Unstructured)
	if _, _, err := compareStored(c, u.DeepCopy(), schema.Parts{}); err != nil {
		t.Fatal(err)
	}
	encoded, err := c.EncodeToStore(resource.Decoded{Object: u.DeepCopy()})
	if err != nil {
		t.Fatal(err)
	}
	read, err := c.DecodeStored(store.Record{Value: encoded.Text})
	if err != nil {
		t.Fatal(err)
	}
	return read
}

var applied = flag.Int("applied", seedtest.Cases(1_000), "how many random objects are applied again as upstream's field manager does it")

func TestAnApplyOfTheSameFieldsIsWhatTheFieldManagerMakesOfIt(t *testing.T) {
	applyIsWhatTheFieldManagerMakesOfIt(t, *applied)
}

// Not all that the schema says is what field management goes by: see typeConverter.
func TestAnApplyWithoutPruningIsWhatTheFieldManagerMakesOfIt(t *testing.T) {
	for rule, replace := range unprunedDefinitions {
		t.Run(rule, func(t *testing.T) { applyIsWhatTheFieldManagerMakesOfIt(t, max(1, *applied/5), replace...) })
	}
}

func applyIsWhatTheFieldManagerMakesOfIt(t *testing.T, objects int, replace ...string) {
	v, props := shortcutVersion(t, replace...)
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		t.Fatal(err)
	}
	custom := v.FieldManager.(*customFields)
	manager, err := custom.upstream()
	if err != nil {
		t.Fatal(err)
	}
	engine := alone(custom)
	r := seedtest.Rand(t)
	valid := func(u *unstructured.Unstructured) bool {
		return len(validation.ValidateCustomResource(nil, u.Object, validator)) == 0
	}
	now := func() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) }
	configuration := func(fields map[string]any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(fields)}
		u.Object["apiVersion"], u.Object["kind"] = "example.com/v1", "Thing"
		metadata := map[string]any{"name": "a", "namespace": "b", "labels": map[string]any{"l": fmt.Sprint(r.IntN(3))}}
		for _, name := range []string{"finalizers", "ownerReferences"} {
			if r.IntN(6) == 0 {
				metadata[name] = []any{}
			}
		}
		if r.IntN(12) == 0 {
			metadata["finalizers"] = nil
		}
		u.Object["metadata"] = metadata
		return u
	}
	// What a schema of these fields has values of, so that most applies are valid.
	field := func() (string, any) {
		return [...]func() (string, any){
			func() (string, any) { return "a", []string{"a", "b", "c"}[r.IntN(3)] },
			func() (string, any) { return "b", int64(r.IntN(3) + 1) },
			func() (string, any) { return "d", r.IntN(2) == 0 },
			func() (string, any) { return "g", []any{"x", "y"}[:r.IntN(3)] },
			func() (string, any) { return "h", map[string]any{"x": int64(r.IntN(3))} },
			func() (string, any) { return "l", map[string]any{"a": []string{"p", "q"}[r.IntN(2)]} },
			func() (string, any) { return "o", map[string]any{"x": int64(r.IntN(2)), "y": int64(1)} },
			func() (string, any) { return "k", []any{"x"} },
			func() (string, any) { return "a", int64(1) },        // of a wrong type
			func() (string, any) { return "g", []any{int64(1)} }, // with items of one
			func() (string, any) { return "q", seedtest.Object(r, 2) },
			func() (string, any) { return "r", []any{seedtest.Object(r, 1), map[string]any{}}[:r.IntN(3)] },
			func() (string, any) { return "s", map[string]any{"x": seedtest.Object(r, 1), "y": map[string]any{}} },
			func() (string, any) { return "t", embedded(r) },
			func() (string, any) { return "u", seedtest.Pick(r, 0.0, math.Copysign(0, -1), 2, 1.5, 1e3, 1e21) },
			func() (string, any) { return "i", seedtest.Object(r, 2) },
		}[r.IntN(16)]()
	}
	applies, changes, noops, refusals, declined := 0, 0, 0, 0, 0
	for range max(seedtest.Cases(objects), 150) { // so many show something
		fields := map[string]any{}
		for range r.IntN(5) {
			name, value := field()
			fields[name] = value
		}
		fields["a"] = "a"
		created := configuration(fields)
		if r.IntN(4) == 0 { // as kubectl creates it
			created.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"})
		}
		live := manager.UpdateNoErrors(v.Codec.New(), created, "creator")
		live.(*unstructured.Unstructured).SetUID("u")
		by := []string{"m", "kubectl"}[r.IntN(2)]
		for range 6 {
			for name := range fields { // the same fields, other values
				if n, value := field(); n == name {
					fields[name] = value
				}
			}
			if r.IntN(8) == 0 {
				name, value := field()
				fields[name] = value
			}
			config, applier, force := configuration(fields), []string{by, "n"}[r.IntN(8)/7], r.IntN(4) > 0
			before, began := live.DeepCopyObject(), now()
			want, err := manager.Apply(live.DeepCopyObject(), config.DeepCopy(), applier, force)
			got, _, refused := engine.Apply(resource.Decoded{Object: live}, config.DeepCopy(), applier, force, began)
			if now() != began {
				continue // the field manager has a clock of its own
			}
			if diff := cmp.Diff(before, live); diff != "" {
				t.Fatalf("the current object is altered (-before +after):\n%s", diff)
			}
			if errors.Is(refused, errDeclined) {
				declined++
			} else if err != nil || refused != nil {
				refusals++
				if fmt.Sprint(err) != fmt.Sprint(refused) {
					t.Fatalf("apply of %v to %v: %v, but the field manager says %v", config.Object, before, refused, err)
				}
			} else {
				applies++
				if reflect.DeepEqual(got, live) {
					noops++
				} else {
					changes++
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("apply of %v to %v (-field manager +engine):\n%s", config.Object, before, diff)
				}
			}
			if err != nil {
				continue
			}
			if !valid(want.(*unstructured.Unstructured)) {
				break // it would be refused
			}
			live = stored(t, custom.codec, want)
		}
	}
	t.Logf("%d applies, %d of them change something; %d are refused, %d declined", applies, changes, refusals, declined)
	if changes < 50 || noops < 20 || refusals < 20 {
		t.Fatalf("%d changes, %d applies of the same, %d refusals: the test shows nothing", changes, noops, refusals)
	}
}
