package builtin

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"

	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/fields"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/testing/fieldstest"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
	kvstore "github.com/fakecluster/fakecluster/store"
)

// side is one kind in one version, at the object or at a subresource.
type side struct {
	apiVersion, subresource string
	fields                  interface {
		resource.Fields
		Upstream() resource.FieldManager
	}
	codec  resource.Codec
	scheme *runtime.Scheme
	kind   schema.GroupVersionKind
	hub    schema.GroupVersion // of the objects that fields is given
	model  *spec.Schema
}

// managedKind is a kind with all of its sides.
type managedKind struct {
	name  string
	sides []side // the first ones are those of the object

	tried, compared int // writes; compared are those that the engine has carried out or refused
}

// managedKinds are the kinds whose field management is compared.
func managedKinds(t *testing.T, models map[string]*spec.Schema) []*managedKind {
	t.Helper()
	var kinds []*managedKind
	registry := resource.NewRegistry(1, Resources(Options{LegacyAPIs: true}, crd.Definitions(true)), nil)
	for _, name := range []schema.GroupResource{
		{Group: "apps", Resource: "deployments"}, {Resource: "pods"}, {Resource: "services"}, {Group: "autoscaling", Resource: "horizontalpodautoscalers"},
		{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}, {Resource: "events"}, {Resource: "nodes"},
		{Group: "networking.k8s.io", Resource: "ingresses"}, {Group: "batch", Resource: "jobs"}, {Resource: "configmaps"},
		{Resource: "serviceaccounts"},
	} {
		r := registry.Resource(name.Group, name.Resource)
		k := &managedKind{name: name.String()}
		add := func(v *resource.Version, subresource string, manages resource.Fields) {
			s := side{apiVersion: v.GroupVersion().String(), subresource: subresource, codec: v.Codec, kind: v.Kind(), scheme: legacyscheme.Scheme, hub: internalIn(name.Group)}
			if name.Group == "apiextensions.k8s.io" {
				s.scheme = crd.Scheme()
			}
			s.set(t, manages, models)
			k.sides = append(k.sides, s)
		}
		for _, v := range r.Versions {
			add(v, "", v.FieldManager)
		}
		for _, v := range r.Versions {
			for _, name := range slices.Sorted(maps.Keys(v.Subresource)) {
				if s := v.Subresource[name]; s.FieldManager != nil && s.Projection == nil && v.KindOf(s) == v.Kind() {
					add(v, name, s.FieldManager)
				}
			}
		}
		kinds = append(kinds, k)
	}
	scale := side{
		apiVersion: "autoscaling/v1", subresource: "scale", scheme: legacyscheme.Scheme, kind: scaleKind, hub: internalIn(scaleKind.Group),
		codec: resource.NewTypedCodec(legacyscheme.Scheme, scaleKind, internalIn(scaleKind.Group), scaleKind.Group, nil),
	}
	scale.set(t, scaleFields(), models)
	ofCustom := customScale(t)
	custom := side{
		apiVersion: "autoscaling/v1", subresource: "scale", scheme: scheme.Scheme, kind: scaleKind, hub: scaleKind.GroupVersion(),
		codec: ofCustom.Projection.View().Codec,
	}
	// Around the engine, crd refuses applies that a real server cannot convert. Scenarios show that.
	engine := reflect.ValueOf(ofCustom.FieldManager).FieldByName("Fields").Interface().(resource.Fields)
	custom.set(t, engine, models)
	return append(kinds, &managedKind{name: "scale", sides: []side{scale}}, &managedKind{name: "scale of a custom resource", sides: []side{custom}})
}

// customScale is the subresource scale of a custom resource.
func customScale(t *testing.T) *resource.Subresource {
	t.Helper()
	record := kvstore.Record{Key: crd.DefinitionsPrefix + "widgets.example.com", Value: `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
		"metadata":{"name":"widgets.example.com","uid":"u"},"spec":{"group":"example.com","scope":"Namespaced",
		"names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,
		"subresources":{"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},
		"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]},"status":{"storedVersions":["v1"],
		"acceptedNames":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"conditions":[{"type":"Established","status":"True"}]}}`}
	obj, err := crd.Definitions(false).Storage.Codec.DecodeStored(record)
	if err != nil {
		t.Fatal(err)
	}
	definition, err := crd.Compile(record, obj.(*apiextensions.CustomResourceDefinition), crd.Outside{})
	if err != nil {
		t.Fatal(err)
	}
	return definition.Resource.Storage.Subresource["scale"]
}

func (s *side) set(t *testing.T, manages resource.Fields, models map[string]*spec.Schema) {
	t.Helper()
	var ok bool
	if s.fields, ok = manages.(interface {
		resource.Fields
		Upstream() resource.FieldManager
	}); !ok {
		t.Fatalf("the fields of %s %s are managed by a %T", s.kind, s.subresource, manages)
	}
	name, err := resource.ModelName(s.scheme, s.kind)
	if err != nil {
		t.Fatal(err)
	}
	if s.model = models[name]; s.model == nil {
		t.Fatalf("there is no schema of %s", name)
	}
}

// TestFieldsAreManagedAsByUpstream holds the field management of built-in kinds, of
// definitions and of Scales to upstream's: random histories of writes come to the same
// objects, the same managedFields and the same refusals.
func TestFieldsAreManagedAsByUpstream(t *testing.T) {
	models := allModels()
	kinds := managedKinds(t, models)
	fieldstest.Play(t, func(t *testing.T, n int, random fieldstest.Generator, tally fieldstest.Tally) int {
		h := &history{
			History:   &fieldstest.History{T: t, Generator: random, Tally: tally, IsKey: isKey},
			generator: generator{random, models}, managedKind: kinds[n%len(kinds)],
		}
		return h.Run(4+h.IntN(20), h.write)
	})
	// A history in which the engine declines one write declines most, so a few histories prove little.
	const enough = 250
	for _, k := range kinds {
		if t.Logf("%s: of %d writes the engine carried out or refused %d", k.name, k.tried, k.compared); k.tried >= enough && k.compared*2 < k.tried {
			t.Errorf("the engine does less than half of the writes of %s", k.name)
		}
	}
}

// history is a series of writes to one object.
type history struct {
	*fieldstest.History
	generator generator
	*managedKind
	obj     runtime.Object  // as stored; nil: not created yet
	managed *fields.Managed // of obj; nil: not parsed
}

func (h *history) write(apply bool) {
	s := h.sides[0]
	if h.One(15) {
		s = h.sides[h.IntN(len(h.sides))]
	} else if len(h.sides) > 1 && h.obj != nil && h.One(30) {
		s = h.sides[len(h.sides)-1] // a subresource
	}
	switch {
	case h.obj == nil && s.subresource != "" && len(h.sides) > 1:
	case apply:
		h.apply(s)
	default:
		h.update(s)
	}
}

// typed makes an object of a tree, with its defaults now and then; nil: there is none.
func (h *history) typed(s side, tree map[string]any, percent int) runtime.Object {
	obj, err := s.scheme.New(s.kind)
	if err != nil {
		h.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(tree, obj); err != nil {
		return nil
	}
	if h.One(percent) {
		s.scheme.Default(obj)
	}
	hub, err := s.scheme.ConvertToVersion(obj, s.hub)
	if err != nil {
		return nil
	}
	return hub
}

// tree is an object in the version of a side.
func (h *history) tree(s side, obj runtime.Object) map[string]any {
	out, err := s.scheme.ConvertToVersion(obj.DeepCopyObject(), s.kind.GroupVersion())
	if err != nil {
		h.Fatal(err)
	}
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(out)
	if err != nil {
		h.Fatal(err)
	}
	return tree
}

func (h *history) live(s side) (ours resource.Decoded, theirs runtime.Object) {
	if h.obj == nil {
		none, err := s.scheme.New(s.kind)
		if err != nil {
			h.Fatal(err)
		}
		return resource.Decoded{Object: s.codec.New()}, none
	}
	managed := h.managed
	if h.One(30) {
		managed = nil
	}
	return resource.Decoded{Object: h.obj.DeepCopyObject()}.WithOwners(managed), h.obj.DeepCopyObject()
}

func (h *history) update(s side) {
	obj := h.generator.whole(s.model)
	if h.obj != nil {
		if obj = h.Change(h.tree(s, h.obj), obj); obj == nil || obj["metadata"] == nil {
			return
		}
		if s.subresource == "status" {
			for name, v := range h.tree(s, h.obj) {
				if name != "status" {
					obj[name] = v
				}
			}
		}
	}
	h.tried++
	typed := h.typed(s, obj, 80)
	if typed == nil {
		h.Tally["no object"]++
		return
	}
	ours, theirs := h.live(s)
	h.claim(typed)
	manager := h.Manager()
	want, _, err := s.fields.Upstream().Update(resource.Decoded{Object: theirs}, typed.DeepCopyObject(), manager, metav1.Now())
	if err != nil {
		h.Fatal(err)
	}
	before, requested := ours.Object.DeepCopyObject(), typed.DeepCopyObject()
	got, owned, err := s.fields.Update(ours, typed, manager, metav1.Now())
	if err != nil {
		h.Errorf("upstream updates, and we say %v", err)
		return
	}
	if h.compare(s, "update", owned, want, got); h.Failed() {
		h.report(s, before, requested)
	}
	h.unaltered(before, ours.Object)
	h.store(s, got, owned)
}

// claim sets managedFields as requests do: as they were, not at all, or otherwise.
func (h *history) claim(obj runtime.Object) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		h.Fatal(err)
	}
	var former []metav1.ManagedFieldsEntry
	if h.obj != nil {
		live, err := meta.Accessor(h.obj.DeepCopyObject())
		if err != nil {
			h.Fatal(err)
		}
		former = live.GetManagedFields()
	}
	switch n := h.IntN(100); {
	case n < 60:
		metadata.SetManagedFields(former)
	case n < 93:
		metadata.SetManagedFields(nil)
	case n == 93:
		metadata.SetManagedFields([]metav1.ManagedFieldsEntry{})
	case n == 94:
		metadata.SetManagedFields([]metav1.ManagedFieldsEntry{{}})
	case n == 95:
		if len(former) > 0 {
			metadata.SetManagedFields(former[h.IntN(len(former)):])
		}
	case n == 96:
		if len(former) > 0 { // in other words
			former[0].FieldsV1 = metav1.NewFieldsV1(" " + former[0].FieldsV1.GetRawString())
			metadata.SetManagedFields(former)
		}
	case n < 99:
		now := metav1.NewTime(time.Unix(h.Int64N(1e9), 5))
		metadata.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: "m1", Operation: seedtest.Pick(h, metav1.ManagedFieldsOperationUpdate, metav1.ManagedFieldsOperationApply),
			APIVersion: seedtest.Pick(h, h.sides[0].apiVersion, h.sides[len(h.sides)-1].apiVersion, "x.io/v3"), FieldsType: "FieldsV1", Time: &now,
			FieldsV1: metav1.NewFieldsV1(seedtest.Pick(h, `{"f:spec":{".":{},"f:replicas":{}}}`, `{"f:metadata":{"f:labels":{"f:app":{}},"f:finalizers":{"v:\"x.io/f\":{}}}}`, `{}`, `{"bad":{}}`)),
		}})
	default:
		metadata.SetManagedFields([]metav1.ManagedFieldsEntry{{Operation: "Update"}})
	}
}

func (h *history) apply(s side) {
	manager, force := h.Manager(), h.One(50)
	var source map[string]any
	if h.obj != nil {
		source = h.tree(s, h.obj)
	}
	config := h.Configuration(manager, h.generator.whole(s.model), source)
	if config == nil {
		return
	}
	config["apiVersion"], config["kind"] = s.apiVersion, s.kind.Kind
	if metadata, ok := config["metadata"].(map[string]any); ok {
		for name := range metadata {
			switch name {
			case "name", "labels", "annotations", "finalizers", "ownerReferences":
			default:
				delete(metadata, name)
			}
		}
	}
	h.tried++
	ours, theirs := h.live(s)
	want, _, err := s.fields.Upstream().Apply(resource.Decoded{Object: theirs}, &unstructured.Unstructured{Object: runtime.DeepCopyJSON(config)}, manager, force, metav1.Now())
	before := ours.Object.DeepCopyObject()
	got, owned, refused := s.fields.Apply(ours, &unstructured.Unstructured{Object: config}, manager, force, metav1.Now())
	h.unaltered(before, ours.Object)
	if err != nil || refused != nil {
		h.Tally[s.what("apply refused")]++
		h.compared++
		if diff := cmp.Diff(fieldstest.Refusal(err), fieldstest.Refusal(refused)); diff != "" {
			h.Errorf("refusals differ (-upstream +ours):\n%s\nupstream: %v\nours: %v", diff, err, refused)
		}
		return
	}
	if h.compare(s, "apply", owned, want, got); h.Failed() {
		h.report(s, before, &unstructured.Unstructured{Object: config})
	}
	h.store(s, got, owned)
}

func (s side) what(happened string) string {
	if s.subresource != "" {
		happened += " of a subresource"
	}
	return happened
}

func (h *history) compare(s side, what string, owned *fields.Managed, want, got runtime.Object) {
	h.Helper()
	if owned == nil {
		what = "declined: " + what
	} else {
		h.compared++
	}
	h.Tally[what]++
	wantText, err := s.codec.Encode(want)
	if err != nil {
		h.Fatal(err)
	}
	gotText, err := s.codec.Encode(got)
	if err != nil {
		h.Fatal(err)
	}
	if diff := cmp.Diff(string(wantText), string(gotText)); diff != "" {
		h.Errorf("%s of %s at %q (-upstream +ours):\n%s", what, s.kind, s.subresource, diff)
	}
	for _, obj := range []runtime.Object{want, got} {
		metadata, err := meta.Accessor(obj)
		if err != nil {
			h.Fatal(err)
		}
		metadata.SetManagedFields(slices.Clone(metadata.GetManagedFields()))
	}
	a, b := want.DeepCopyObject(), got.DeepCopyObject()
	for _, obj := range []runtime.Object{a, b} {
		metadata, err := meta.Accessor(obj)
		if err != nil {
			h.Fatal(err)
		}
		metadata.SetManagedFields(nil)
	}
	if !equality.Semantic.DeepEqual(a, b) {
		h.Errorf("%s of %s at %q: objects have one JSON and differ: %s", what, s.kind, s.subresource, cmp.Diff(a, b, cmp.Exporter(func(reflect.Type) bool { return true })))
	}
	if owned != nil {
		metadata, err := meta.Accessor(got)
		if err != nil {
			h.Fatal(err)
		}
		if !owned.IsList(metadata.GetManagedFields()) {
			h.Error("the owners are others than managedFields says")
		}
	}
}

func (h *history) report(s side, live, requested runtime.Object) {
	show := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	if u, ok := requested.(*unstructured.Unstructured); ok {
		h.Logf("live: %s\napplied: %s", show(h.tree(s, live)), show(u.Object))
		return
	}
	h.Logf("live: %s\nobject: %s", show(h.tree(s, live)), show(h.tree(s, requested)))
}

func (h *history) unaltered(before, after runtime.Object) {
	h.Helper()
	if !equality.Semantic.DeepEqual(before, after) {
		h.Error("the live object has been altered")
	}
}

// store makes an object the one that is stored.
func (h *history) store(s side, obj runtime.Object, owned *fields.Managed) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		h.Fatal(err)
	}
	if h.obj == nil || h.One(95) {
		metadata.SetUID("u")
	}
	metadata.SetResourceVersion(fmt.Sprint(1 + h.IntN(1000)))
	h.obj, h.managed = obj, owned
	if h.IntN(3) > 0 {
		return
	}
	// What is kept of a stored object is what reading it would give.
	encoded, err := s.codec.EncodeToStore(resource.Decoded{Object: obj})
	text, kept := encoded.Text, encoded.Stored
	if err != nil || kept.Object == nil {
		return
	}
	read, err := s.codec.DecodeStored(kvstore.Record{Value: string(text)})
	if err != nil {
		h.Fatal(err)
	}
	if _, ok := s.fields.(*resource.TypedFields); ok && !reflect.DeepEqual(read, kept.Object) {
		if diff := cmp.Diff(read, kept.Object, sameValues...); diff != "" {
			h.Errorf("%s is kept otherwise than it is read (-read +kept):\n%s", s.kind, diff)
		}
	}
}

// sameValues compare all that reflect.DeepEqual compares, except the text that a Quantity keeps once it was encoded.
var sameValues = cmp.Options{
	cmp.Exporter(func(reflect.Type) bool { return true }),
	cmp.Comparer(func(a, b apiresource.Quantity) bool { return a.Format == b.Format && a.String() == b.String() }),
	cmp.Comparer(func(a, b metav1.Time) bool { return reflect.DeepEqual(a, b) }),
	cmp.Comparer(func(a, b metav1.MicroTime) bool { return reflect.DeepEqual(a, b) }),
}

// What field management uses of kinds is what their OpenAPI says.
func TestTypesAreThoseOfTheOpenAPIDocuments(t *testing.T) {
	for _, g := range groups {
		for i := range g.kinds {
			k := &g.kinds[i]
			converter, err := k.types(g).Converter()
			if err != nil || converter == nil {
				t.Errorf("%s: %v", k.kind, err)
			}
			if _, err := k.types(g).Trees(); err != nil {
				t.Errorf("%s: %v", k.kind, err)
			}
		}
	}
	kinds := []schema.GroupVersionKind{{Version: "v1", Kind: "Pod"}, {Group: "apps", Version: "v1", Kind: "Deployment"}}
	published, err := models(kinds...)
	if err != nil {
		t.Fatal(err)
	}
	want, err := schemaconv.ToSchemaFromOpenAPI(published, false)
	if err != nil {
		t.Fatal(err)
	}
	reached, err := resource.Reachable(legacyscheme.Scheme, definitionsV3(), kinds)
	if err != nil {
		t.Fatal(err)
	}
	got, err := schemaconv.ToSchemaFromOpenAPI(reached, false)
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Types) != len(got.Types) {
		t.Errorf("%d types, want %d", len(got.Types), len(want.Types))
	}
	for _, def := range want.Types {
		own, ok := got.FindNamedType(def.Name)
		for _, m := range []*smdschema.Map{def.Map, own.Map} {
			if m != nil { // they come in any order
				slices.SortFunc(m.Fields, func(a, b smdschema.StructField) int { return strings.Compare(a.Name, b.Name) })
			}
		}
		if !ok || !own.Equals(&def) {
			t.Errorf("type %s differs", def.Name)
		}
	}
}
