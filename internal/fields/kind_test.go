package fields

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/spec3"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/internal/schema"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// kind is a kind of random schemas, which may change.
type kind struct {
	schemas    map[string]map[string]any // by apiVersion; nil: none
	structural map[string]*structuralschema.Structural
	trees      map[string]*Tree
	types      managedfields.TypeConverter
	failing    string // conversion to this apiVersion fails
}

const group = "x.io"

// realSchemas are those of the definitions of the flag.
func realSchemas(t *testing.T) (roots []map[string]any) {
	if *definitions == "" {
		return nil
	}
	text, err := os.ReadFile(*definitions)
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range strings.Split(string(text), "\n---") {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal([]byte(document), &crd); err != nil {
			t.Fatal(err)
		}
		for _, v := range crd.Spec.Versions {
			text, err := json.Marshal(v.Schema.OpenAPIV3Schema)
			if err != nil {
				t.Fatal(err)
			}
			var root map[string]any
			if err := json.Unmarshal(text, &root); err != nil {
				t.Fatal(err)
			}
			delete(root["properties"].(map[string]any), "apiVersion")
			delete(root["properties"].(map[string]any), "kind")
			delete(root["properties"].(map[string]any), "metadata")
			roots = append(roots, integers(root).(map[string]any))
		}
	}
	return roots
}

// newKind is a kind of two versions. Its schemas are random, or some of the real ones.
func newKind(t *testing.T, g generator, real []map[string]any) *kind {
	root := g.root()
	if len(real) > 0 {
		root = seedtest.Pick(g, real...)
	}
	k := &kind{schemas: map[string]map[string]any{group + "/v1": root, group + "/v2": g.variant(root)}}
	if g.One(5) {
		k.schemas[group+"/v2"] = nil
	}
	if g.One(5) {
		k.failing = group + "/v2"
	}
	k.compile(t, g)
	return k
}

// evolve gives the kind other schemas.
func (k *kind) evolve(t *testing.T, g generator) *kind {
	out := &kind{schemas: map[string]map[string]any{}, failing: k.failing}
	for apiVersion, root := range k.schemas {
		if root != nil {
			root = g.variant(root)
		}
		out.schemas[apiVersion] = root
	}
	out.compile(t, g)
	return out
}

func (k *kind) compile(t *testing.T, g generator) {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: group, Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Widget", ListKind: "WidgetList", Plural: "widgets"},
	}}
	k.structural, k.trees = map[string]*structuralschema.Structural{}, map[string]*Tree{}
	preserve := g.One(5)
	for _, apiVersion := range slices.Sorted(maps.Keys(k.schemas)) {
		v := apiextensionsv1.CustomResourceDefinitionVersion{Name: strings.TrimPrefix(apiVersion, group+"/")}
		if root := k.schemas[apiVersion]; root != nil {
			text, err := json.Marshal(map[string]any{"openAPIV3Schema": root})
			if err != nil {
				t.Fatal(err)
			}
			v.Schema = &apiextensionsv1.CustomResourceValidation{}
			if err := json.Unmarshal(text, v.Schema); err != nil {
				t.Fatal(err)
			}
			internal := &apiextensions.CustomResourceValidation{}
			if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v.Schema, internal, nil); err != nil {
				t.Fatal(err)
			}
			s, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
			if err != nil {
				t.Fatal(err)
			}
			if errs := structuralschema.ValidateStructural(nil, s); len(errs) > 0 {
				t.Fatal(errs)
			}
			k.structural[apiVersion] = s
		}
		crd.Spec.Versions = append(crd.Spec.Versions, v)
	}
	var specs []*spec3.OpenAPI
	for _, v := range crd.Spec.Versions {
		spec, err := builder.BuildOpenAPIV3(crd, v.Name, builder.Options{})
		if err != nil {
			t.Fatal(err)
		}
		specs = append(specs, spec)
	}
	merged, err := builder.MergeSpecsV3(specs...)
	if err != nil {
		t.Fatal(err)
	}
	if k.types, err = managedfields.NewTypeConverter(merged.Components.Schemas, preserve); err != nil {
		t.Fatal(err)
	}
	fromOpenAPI := g.One(30)
	for apiVersion := range k.schemas {
		s := k.structural[apiVersion]
		switch {
		case fromOpenAPI:
			types, err := schemaconv.ToSchemaFromOpenAPI(merged.Components.Schemas, preserve)
			if err != nil {
				t.Fatal(err)
			}
			if k.trees[apiVersion], err = Compile(types, "io.x."+strings.TrimPrefix(apiVersion, group+"/")+".Widget"); err != nil {
				t.Fatal(err)
			}
		case s == nil:
			k.trees[apiVersion] = NewBareTree()
		default:
			k.trees[apiVersion] = NewTree(schema.Compile(s, nil), preserve)
		}
	}
}

// ConvertToVersion implements runtime.ObjectConvertor: another apiVersion, and no field
// that the schema does not have.
func (k *kind) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	u := in.(*unstructured.Unstructured)
	to, _ := target.KindForGroupVersionKinds([]runtimeschema.GroupVersionKind{u.GroupVersionKind()})
	if to.GroupVersion().String() == u.GetAPIVersion() {
		return u, nil
	}
	obj, err := k.convert(u.Object, to.GroupVersion().String())
	return &unstructured.Unstructured{Object: obj}, err
}

func (k *kind) convert(obj map[string]any, apiVersion string) (map[string]any, error) {
	if _, ok := k.schemas[apiVersion]; !ok || apiVersion == k.failing {
		return nil, fmt.Errorf("no conversion to %s", apiVersion)
	}
	out := runtime.DeepCopyJSON(obj)
	out["apiVersion"] = apiVersion
	metadata := out["metadata"]
	if s := k.structural[apiVersion]; s != nil {
		pruning.Prune(out, s, true)
	}
	if metadata != nil {
		out["metadata"] = metadata
	}
	return out, nil
}

func (k *kind) Convert(_, _, _ any) error { panic("not called") }
func (k *kind) ConvertFieldLabel(runtimeschema.GroupVersionKind, string, string) (string, string, error) {
	panic("not called")
}

// Default implements runtime.ObjectDefaulter.
func (k *kind) Default(in runtime.Object) {
	u := in.(*unstructured.Unstructured)
	if s := k.structural[u.GetAPIVersion()]; s != nil {
		defaulting.Default(u.Object, s)
	}
}

// New implements runtime.ObjectCreater.
func (k *kind) New(gvk runtimeschema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u, nil
}

// both are upstream's field manager and the engine for the same writes.
func (k *kind) both(t *testing.T, apiVersion, subresource string) (*managedfields.FieldManager, *Engine) {
	reset := []string{"status"}
	if subresource != "" {
		reset = []string{"metadata", "spec"}
	}
	filters, sets := map[fieldpath.APIVersion]fieldpath.Filter{}, map[string]Filter{}
	for v := range k.schemas {
		if subresource == "" && v != apiVersion {
			continue
		}
		s := fieldpath.NewSet()
		for _, name := range reset {
			s.Insert(fieldpath.MakePathOrDie(name))
		}
		filters[fieldpath.APIVersion(v)] = fieldpath.NewExcludeSetFilter(s)
		sets[v] = Excluding(NewSet(reset...))
	}
	gv, err := runtimeschema.ParseGroupVersion(apiVersion)
	if err != nil {
		t.Fatal(err)
	}
	upstream, err := managedfields.NewDefaultCRDFieldManager(k.types, k, k, k, gv.WithKind("Widget"), gv, subresource, filters)
	if err != nil {
		t.Fatal(err)
	}
	return upstream, &Engine{APIVersion: apiVersion, Kind: "Widget", Subresource: subresource, Trees: k.trees, Reset: sets, Convert: k.convert}
}
