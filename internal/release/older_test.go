package release

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// fieldsIn returns the later fields of the type of an object, as seen from a version.
func fieldsIn(t *testing.T, version string, obj any) *LaterFields {
	t.Helper()
	older, err := apiOf(version)
	if err != nil {
		t.Fatal(err)
	}
	return older.fieldsOf(reflect.TypeOf(obj))
}

// lacking returns a release that does not have a field of a definition.
func lacking(definition, field string) *api {
	return &api{Definitions: map[string]json.RawMessage{definition: json.RawMessage(`{"properties":{"` + field + `":null}}`)}}
}

// There is a file for each older version, which lists the fields that came with each version after it.
func TestFiles(t *testing.T) {
	for v := oldest; v.LessThan(newest); v = v.AddMinor(1) {
		older, err := apiOf(v.String())
		if err != nil {
			t.Errorf("%v: go run ./older in conformance writes the files", err)
			continue
		}
		if !strings.HasPrefix(older.Release, "v"+v.String()+".") {
			t.Errorf("the file of %s is of %s", v, older.Release)
		}
		for _, field := range []struct {
			definition, name string
			since            uint
		}{
			{"io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerCondition", "observedGeneration", 37},
			{"io.k8s.api.core.v1.PodSpec", "schedulingGroup", 36},
			{"io.k8s.api.storage.v1.CSIDriverSpec", "serviceAccountTokenInSecrets", 35},
		} {
			if later := older.laterFields(field.definition)[field.name]; later != (v.Minor() < field.since) {
				t.Errorf("%s is a later field of %s: %t", field.name, v, later)
			}
		}
		if lacks := slices.Contains(older.Lacks, "admissionregistration.k8s.io/v1 mutatingadmissionpolicies"); lacks != (v.Minor() < 36) {
			t.Errorf("%s lacks policies that mutate: %t", v, lacks)
		}
	}
	entries, err := files.ReadDir(".")
	if older := int(newest.Minor() - oldest.Minor()); err != nil || len(entries) != older {
		t.Errorf("there are %d files, want %d, those of %s to the one before %s", len(entries), older, oldest, newest)
	}
}

// A decoder says of a later field what it says of any field that it does not know, in every format.
func TestLaterFieldsAreUnknown(t *testing.T) {
	later := fieldsIn(t, "1.35", &appsv1.Deployment{})
	text := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, kjson.SerializerOptions{Strict: true})
	yaml := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, kjson.SerializerOptions{Strict: true, Yaml: true})
	lenient := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, kjson.SerializerOptions{Yaml: true})
	const (
		begin = `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":2,"template":{"spec":`
		ends  = `}}}`
	)
	for _, test := range []struct {
		rule, text, want string
		by               runtime.Serializer
	}{
		{"none", begin + `{"nodeName":"a"}` + ends, "", text},
		{"one", begin + `{"nodeName":"a","schedulingGroup":{"podGroupName":"g"}}` + ends, `unknown field "spec.template.spec.schedulingGroup"`, text},
		{"its value does not matter", begin + `{"schedulingGroup":["x"],"nodeName":"a"}` + ends, `unknown field "spec.template.spec.schedulingGroup"`, text},
		{"null", begin + `{"schedulingGroup":null,"nodeName":"a"}` + ends, `unknown field "spec.template.spec.schedulingGroup"`, text},
		{"in lists", begin + `{"nodeName":"a","volumes":[{"name":"v"},{"name":"w","emptyDir":{"mode":1}}]}` + ends, `unknown field "spec.template.spec.volumes[1].emptyDir.mode"`, text},
		{"in a struct that is inlined", begin + `{"nodeName":"a","containers":[{"name":"c","livenessProbe":{"httpGet":{"protocol":"x","port":1}}}]}` + ends, `unknown field "spec.template.spec.containers[0].livenessProbe.httpGet.protocol"`, text},
		{"among others, in their order", begin + `{"a":1,"schedulingGroup":{},"nodeName":"a","b":1}` + ends, `unknown field "spec.template.spec.a", unknown field "spec.template.spec.schedulingGroup", unknown field "spec.template.spec.b"`, text},
		{"twice", begin + `{"schedulingGroup":{},"schedulingGroup":{},"nodeName":"a"}` + ends, `unknown field "spec.template.spec.schedulingGroup"`, text},
		{"the name in another place", begin + `{"nodeName":"a","nodeSelector":{"schedulingGroup":"x"}}` + ends, "", text},
		{"in YAML", "apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 2, template: {spec: {schedulingGroup: {}, nodeName: a}}}", `unknown field "spec.template.spec.schedulingGroup"`, yaml},
		{"in YAML in which a field repeats", "apiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: 1\n  replicas: 2\n  template: {spec: {schedulingGroup: {}, nodeName: a}}", "yaml: unmarshal errors:\n  line 5: key \"replicas\" already set in map, unknown field \"spec.template.spec.schedulingGroup\"", yaml},
		{"if nobody asks", "apiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: 1\n  replicas: 2\n  template: {spec: {schedulingGroup: {}, nodeName: a}}", "", lenient},
	} {
		obj, _, err := later.Serializer(test.by).Decode([]byte(test.text), nil, nil)
		got := ""
		if err != nil {
			strict, ok := runtime.AsStrictDecodingError(err)
			if !ok {
				t.Errorf("%s: %v", test.rule, err)
				continue
			}
			var names []string
			for _, e := range strict.Errors() {
				names = append(names, e.Error())
			}
			got = strings.Join(names, ", ")
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.rule, got, test.want)
		}
		d := obj.(*appsv1.Deployment)
		if p := d.Spec.Template.Spec; *d.Spec.Replicas != 2 || p.SchedulingGroup != nil || p.NodeName != "a" && p.NodeSelector == nil {
			t.Errorf("%s: %+v", test.rule, d.Spec)
		}
	}
	if _, _, err := later.Serializer(text).Decode([]byte(begin+`{"schedulingGroup":`), nil, nil); err == nil || err.Error() != "couldn't get version/kind; json parse error: unexpected end of JSON input" {
		t.Errorf("text that is not JSON: %v", err)
	}
	if s := (*LaterFields)(nil).Serializer(text); s != text {
		t.Errorf("without later fields there is another serializer: %v", s)
	}
}

// A version keeps the fields that came with it.
func TestEachVersionKeepsItsFields(t *testing.T) {
	group := "g"
	in := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "a", SchedulingGroup: &corev1.PodSchedulingGroup{PodGroupName: &group}}}
	fieldsIn(t, "1.36", in).Prune(in)
	if in.Spec.SchedulingGroup == nil {
		t.Error("1.36 does not keep its field")
	}
	fieldsIn(t, "1.35", in).Prune(in)
	if in.Spec.SchedulingGroup != nil || in.Spec.NodeName != "a" {
		t.Errorf("1.35 keeps %+v", in.Spec)
	}
}

// Trees of JSON, which patches are merged in, are as texts.
func TestRename(t *testing.T) {
	obj := map[string]any{"spec": map[string]any{
		"serviceAccountTokenInSecrets": true, "attachRequired": true,
	}}
	older := lacking("io.k8s.api.storage.v1.CSIDriverSpec", "serviceAccountTokenInSecrets")
	later := older.fieldsOf(reflect.TypeFor[*storagev1.CSIDriver]())
	later.Rename(obj)
	driver := &storagev1.CSIDriver{}
	err := later.Restore(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj, driver, true))
	if want := `strict decoding error: unknown field "spec.serviceAccountTokenInSecrets"`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if driver.Spec.ServiceAccountTokenInSecrets != nil || !*driver.Spec.AttachRequired {
		t.Errorf("%+v", driver.Spec)
	}
}

// A type that contains itself ends, and the fields in maps are found.
func TestPrune(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Schema: &apiextensionsv1.CustomResourceValidation{
		OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{"a": {Type: "string"}}},
	}}}
	crd.Status.ObservedGeneration = 3
	const status = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionStatus"
	lacking(status, "observedGeneration").fieldsOf(reflect.TypeOf(crd)).Prune(crd)
	if crd.Status.ObservedGeneration != 0 || crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["a"].Type != "string" {
		t.Errorf("%+v", crd)
	}
	if later := lacking("io.k8s.api.storage.v1.CSIDriverSpec", "serviceAccountTokenInSecrets").fieldsOf(reflect.TypeOf(crd)); later != nil {
		t.Errorf("a definition has the later fields %v of another kind", later.names)
	}
	type inner struct {
		Pods map[string]corev1.PodSpec `json:"pods"`
	}
	group := "g"
	in := &inner{map[string]corev1.PodSpec{"a": {NodeName: "n", SchedulingGroup: &corev1.PodSchedulingGroup{PodGroupName: &group}}}}
	fieldsIn(t, "1.35", in).Prune(in)
	if in.Pods["a"].SchedulingGroup != nil || in.Pods["a"].NodeName != "n" {
		t.Errorf("%+v", in)
	}
}

// A definition loses its later fields, and what only they refer to.
func TestPatchedDefinition(t *testing.T) {
	ref := func(name string) spec.Schema { return *spec.RefSchema("#/components/schemas/" + name) }
	definition := common.OpenAPIDefinition{
		Schema: spec.Schema{SchemaProps: spec.SchemaProps{
			Type: []string{"object"}, Required: []string{"spec"}, Properties: map[string]spec.Schema{"old": ref("io.k8s.Old"), "new": ref("io.k8s.New")},
		}},
		Dependencies: []string{"io.k8s.Old", "io.k8s.New"},
	}
	got, err := patched(definition, []byte(`{"properties":{"new":null},"required":null}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got.Schema)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"type":"object","properties":{"old":{"$ref":"#/components/schemas/io.k8s.Old"}}}`; string(text) != want || !slices.Equal(got.Dependencies, []string{"io.k8s.Old"}) {
		t.Errorf("%s with %v, want %s", text, got.Dependencies, want)
	}
	if len(definition.Schema.Properties) != 2 {
		t.Error("the definition of the newest release is altered")
	}
}

// Of the later fields that Go values always have, all are known: no object shows one, and field management knows them.
func TestFieldsThatAreAlwaysThere(t *testing.T) {
	found := map[string]bool{}
	for _, version := range Names()[:len(Names())-1] {
		older, err := apiOf(version)
		if err != nil {
			t.Fatal(err)
		}
		for kind, goType := range scheme.Scheme.AllKnownTypes() {
			if later := older.fieldsOf(goType); later != nil && len(later.always) > 0 && !strings.HasSuffix(kind.Kind, "List") {
				found[util.GetCanonicalTypeName(reflect.New(goType).Interface())] = true
			}
		}
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, alwaysThere) {
		t.Errorf("Go values always have later fields of %v, want %v", got, alwaysThere)
	}
	node := &storagev1.CSINode{}
	node.Name, node.APIVersion, node.Kind = "a", "storage.k8s.io/v1", "CSINode"
	text, err := json.Marshal(node)
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]string{
		"1.36": `{"kind":"CSINode","apiVersion":"storage.k8s.io/v1","metadata":{"name":"a"},"spec":{"drivers":null}}`, "": string(text),
	} {
		var later *LaterFields
		if version != "" {
			later = fieldsIn(t, version, node)
		}
		if got := later.Omit(string(text)); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

// The schemas of a document, which may be pointers, lose the later fields, and the schemas of which only these are.
func TestSchemasOfADocument(t *testing.T) {
	older, err := apiOf("1.35")
	if err != nil {
		t.Fatal(err)
	}
	const (
		list  = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
		shard = "io.k8s.apimachinery.pkg.apis.meta.v1.ShardInfo"
		text  = `{"` + list + `":{"type":"object","properties":{"continue":{"type":"string"},"shardInfo":{"$ref":"#/definitions/` + shard + `"}}},` +
			`"` + shard + `":{"type":"object"},"Unnamed":{"type":"string"}}`
		want = `{"Unnamed":{"type":"string"},"` + list + `":{"type":"object","properties":{"continue":{"type":"string"}}}}`
	)
	var values spec.Definitions
	var pointers map[string]*spec.Schema
	for _, into := range []any{&values, &pointers} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	correctSchemas(older, values)
	correctSchemas(older, pointers)
	for _, schemas := range []any{values, pointers} {
		if got := string(marshal(schemas)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	correctSchemas(nil, values)
}
