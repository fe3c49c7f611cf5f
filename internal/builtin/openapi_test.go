package builtin

import (
	"encoding/json"
	"maps"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

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
	return builder3.BuildOpenAPIDefinitionsForResources(&common.OpenAPIV3Config{
		Definitions: forBuilding(definitionsV3()), GetDefinitionName: definitionNames().GetDefinitionName,
	}, names...)
}

// A build of a document writes nothing to the definitions that all documents are made of.
func TestABuildLeavesTheDefinitionsAsTheyAre(t *testing.T) {
	const intOrString = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
	const deployment = "io.k8s.api.apps.v1.Deployment"
	before := maps.Clone(definitionsV3()[intOrString].Schema.Extensions)
	if before[common.ExtensionV2Schema] == nil {
		t.Fatalf("the definition of %s has no schema of v2; its extensions are %v", intOrString, before)
	}
	kind := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	models, err := models(kind)
	if err != nil {
		t.Fatal(err)
	}
	if models[deployment] == nil {
		t.Errorf("there is no schema of %s", deployment)
	}
	if after := definitionsV3()[intOrString].Schema.Extensions; after[common.ExtensionV2Schema] == nil {
		t.Errorf("after a build the definition of %s has the extensions %v, want %v", intOrString, after, before)
	}
}

// Documents of several groups are made and written at the same time. The race detector
// fails this test if one build writes to what another has.
func TestDocumentsAreMadeAtOnce(t *testing.T) {
	var running sync.WaitGroup
	for _, kinds := range [][]schema.GroupVersionKind{
		{{Group: "apps", Version: "v1", Kind: "Deployment"}},
		{{Group: "batch", Version: "v1", Kind: "Job"}},
		{{Version: "v1", Kind: "Pod"}},
		{metav1.SchemeGroupVersion.WithKind("Status")},
	} {
		running.Go(func() {
			models, err := models(kinds...)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := json.Marshal(models); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
}
