package realcrds

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fakecluster/fakecluster/internal/schema"
	"github.com/fakecluster/fakecluster/internal/testing/schematest"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// compiled are the schemas of the definitions, by apiVersion and kind.
func compiled(t testing.TB) map[metav1.TypeMeta]*schematest.Schema {
	t.Helper()
	manifests, err := shipped(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[metav1.TypeMeta]*schematest.Schema{}
	for _, m := range manifests {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m.object.Object, &crd); err != nil {
			t.Fatalf("%s: %v", m, err)
		}
		for _, v := range crd.Spec.Versions {
			kind := metav1.TypeMeta{APIVersion: crd.Spec.Group + "/" + v.Name, Kind: crd.Spec.Names.Kind}
			props := &apiextensions.JSONSchemaProps{}
			if schemas[kind] != nil || v.Schema == nil {
				continue
			}
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, props, nil); err != nil {
				t.Fatalf("%s: %v", m, err)
			}
			if schemas[kind] = schematest.NewSchema(t, props); schemas[kind] == nil {
				t.Fatalf("%s: the defaults are not those of a definition", m)
			}
		}
	}
	return schemas
}

// The walks over real schemas are compared with upstream's libraries, and find most of what
// upstream would.
func TestSchemasOfRealDefinitions(t *testing.T) {
	t.Chdir("..") // where the modules are looked for
	g, random := schematest.Generator{Rand: seedtest.Rand(t)}, schematest.NewTally()
	schemas := compiled(t)
	kinds := make([]metav1.TypeMeta, 0, len(schemas))
	for kind := range schemas {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b metav1.TypeMeta) int { return strings.Compare(a.String(), b.String()) })
	for _, kind := range kinds {
		s := schemas[kind]
		for range 2 {
			obj := g.Object(s.Props, g.IntN(2))
			former, ok := g.Changed(obj, 2).(map[string]any)
			if !ok {
				former = obj
			}
			s.Compare(t, obj, former, random)
		}
	}
	t.Logf("random objects of %d schemas: %s", len(schemas), random)

	examples, declined := schematest.NewTally(), map[string]int{}
	for _, obj := range shippedObjects(t) {
		apiVersion, _ := obj["apiVersion"].(string)
		kind, _ := obj["kind"].(string)
		s := schemas[metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}]
		if s == nil {
			continue
		}
		s.Compare(t, obj, obj, examples)
		if s.Validate(obj) == nil && !s.Node.Inspect(obj, schema.Valid).Has(schema.Valid) {
			declined[kind]++
		}
	}
	t.Logf("objects that the modules ship: %s; upstream has to validate valid ones of %v", examples, declined)
	if len(schemas) < 50 || examples.Objects < 30 {
		t.Errorf("%d schemas and %d objects: the test shows little", len(schemas), examples.Objects)
	}
}

// shippedObjects are the objects in the YAML files of the modules, wherever they are: in
// examples, in tests. Files that are templates are left out.
func shippedObjects(t testing.TB) []map[string]any {
	t.Helper()
	folders, err := moduleFolders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var samples []map[string]any
	for _, folder := range folders {
		files := os.DirFS(folder)
		err := fs.WalkDir(files, ".", func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !slices.Contains([]string{".yaml", ".yml"}, path.Ext(file)) {
				return err
			}
			content, err := fs.ReadFile(files, file)
			if err != nil || bytes.Contains(content, []byte("{{")) || bytes.Contains(content, []byte("${")) {
				return err
			}
			for decoder := yaml.NewYAMLToJSONDecoder(bytes.NewReader(content)); ; {
				var obj map[string]any
				if decoder.Decode(&obj) != nil {
					return nil // the end, or no YAML
				}
				if _, ok := obj["metadata"].(map[string]any); ok {
					samples = append(samples, runtime.DeepCopyJSON(integers(obj).(map[string]any)))
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return samples
}

// integers makes whole numbers integers, as the server's decoder does.
func integers(value any) any {
	switch v := value.(type) {
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	case map[string]any:
		for name, field := range v {
			v[name] = integers(field)
		}
	case []any:
		for i, item := range v {
			v[i] = integers(item)
		}
	}
	return value
}
