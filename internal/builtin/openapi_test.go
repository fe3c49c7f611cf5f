package builtin

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/fakecluster/fakecluster/internal/openapi"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// models are the schemas of kinds as documents have them.
func models(kinds ...schema.GroupVersionKind) (map[string]*spec.Schema, error) {
	var names []string
	for _, kind := range kinds {
		name, err := resource.ModelName(legacyscheme.Scheme, kind)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	definitions := maps.Clone(definitionsV3())
	for name, d := range definitions { // the builder writes to them
		d.Schema.Extensions = maps.Clone(d.Schema.Extensions)
		definitions[name] = d
	}
	return builder3.BuildOpenAPIDefinitionsForResources(&common.OpenAPIV3Config{
		Definitions: definitions, GetDefinitionName: definitionNames().GetDefinitionName,
	}, names...)
}

// documentsOf are the documents of all kinds of some options.
func documentsOf(o Options) *openapi.Documents {
	return openapi.New(resource.NewRegistry(1, Resources(o, nil), nil), nil, OpenAPITypes)
}

func getDocument(d *openapi.Documents, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// Every kind that any option adds can be described, in both forms.
func TestEveryKindIsDescribed(t *testing.T) {
	everything, err := ParseRuntimeConfig("api/all=true")
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{"default": {}, "legacy": {LegacyAPIs: true}, "all": {RuntimeConfig: everything}} {
		d := documentsOf(o)
		if _, err := d.Index(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		v2, err := d.V2()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, r := range Resources(o, nil) {
			if r == nil {
				continue
			}
			for _, v := range r.Versions {
				root := "/apis/" + v.GroupVersion().String() + "/"
				if r.Group == "" {
					root = "/api/" + v.Name + "/"
				}
				if r.Namespaced {
					root += "namespaces/{namespace}/"
				}
				if _, ok := v2.Paths.Paths[root+r.Names.Plural]; ok != v.Served {
					t.Errorf("%s: %s is described: %t; is it served: %t", name, root+r.Names.Plural, ok, v.Served)
				}
			}
		}
	}
}

// A build of a document writes nothing to the definitions that all documents are made of.
func TestABuildLeavesTheDefinitionsAsTheyAre(t *testing.T) {
	const intOrString = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
	before := maps.Clone(definitionsV3()[intOrString].Schema.Extensions)
	if before[common.ExtensionV2Schema] == nil {
		t.Fatalf("the definition of %s has no schema of v2; its extensions are %v", intOrString, before)
	}
	w := getDocument(documentsOf(Options{}), "/openapi/v3/apis/apps/v1")
	var document struct {
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil {
		t.Fatalf("%d: %v", w.Code, err)
	}
	if document.Components.Schemas[intOrString] == nil || document.Components.Schemas["io.k8s.api.apps.v1.Deployment"] == nil {
		t.Errorf("the document does not describe Deployments: it has %d schemas", len(document.Components.Schemas))
	}
	if after := definitionsV3()[intOrString].Schema.Extensions; after[common.ExtensionV2Schema] == nil {
		t.Errorf("after a build the definition of %s has the extensions %v, want %v", intOrString, after, before)
	}
}

// Documents of several groups are made and written at the same time, for several clusters. The
// race detector fails this test if one build writes to what another has.
func TestDocumentsAreMadeAtOnce(t *testing.T) {
	var running sync.WaitGroup
	for range 2 {
		d := documentsOf(Options{LegacyAPIs: true})
		for _, path := range []string{
			"/openapi/v3/apis/apps/v1", "/openapi/v3/apis/batch/v1", "/openapi/v3/api/v1", "/openapi/v3/apis/apps", "/openapi/v2", "/openapi/v3",
		} {
			running.Go(func() {
				if w := getDocument(d, path); w.Code != http.StatusOK {
					t.Errorf("%s: %d %s", path, w.Code, w.Body)
				}
			})
		}
	}
	running.Wait()
}
