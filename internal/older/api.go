package older

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"

	"github.com/fakecluster/fakecluster/internal/emulation"
)

// files has the file of each older version.
//
//go:embed api-*.json
var files embed.FS

// api is what an older release has in another way than the newest one.
type api struct {
	// Release is the one whose documents it comes from, such as v1.35.4.
	Release string
	// Lacks are resources and subresources that the release does not have in a version of a group that it has, such as
	// "storage.k8s.io/v1 csinodes/status".
	Lacks []string
	// Definitions are the merge patches of definitions, by their names.
	Definitions map[string]json.RawMessage
}

// apiOf reads the file of a version.
func apiOf(version string) (*api, error) {
	text, err := files.ReadFile("api-" + version + ".json")
	if err != nil {
		return nil, err
	}
	of := &api{}
	return of, json.Unmarshal(text, of)
}

// own is what the process has in another way than the newest release; nil: nothing.
var own = sync.OnceValue(func() *api {
	version := emulation.Older()
	if version == "" {
		return nil
	}
	of, err := apiOf(version)
	if err != nil {
		panic(fmt.Sprintf("the embedded file of Kubernetes %s: %v", version, err))
	}
	return of
})

// Release returns the older release that the process is, such as v1.35.4; empty: it is the newest one.
func Release() string {
	if own() == nil {
		return ""
	}
	return own().Release
}

// Lacks reports whether the release of the process does not have a resource or subresource, such as csinodes/status, in a version
// of a group.
func Lacks(version schema.GroupVersion, name string) bool {
	return own() != nil && slices.Contains(own().Lacks, version.String()+" "+name)
}

// alwaysThere are the definitions with later fields that Go values always have: structs.
var alwaysThere = []string{"io.k8s.api.resource.v1alpha3.DeviceTaintRule", "io.k8s.api.storage.v1.CSINode"}

// Correct makes definitions of the newest release those of the release of the process.
func Correct(definitions map[string]common.OpenAPIDefinition) { own().correct(definitions) }

// CorrectForValues is Correct for definitions that describe Go values: later fields that these always have stay.
func CorrectForValues(definitions map[string]common.OpenAPIDefinition) {
	own().correct(definitions, alwaysThere...)
}

// correct corrects the definitions, except those of the given names.
func (a *api) correct(definitions map[string]common.OpenAPIDefinition, except ...string) {
	if a == nil {
		return
	}
	for name, patch := range a.Definitions {
		definition, found := definitions[name]
		if !found || slices.Contains(except, name) {
			continue
		}
		corrected, err := patched(definition, patch)
		if err != nil {
			panic(fmt.Sprintf("correcting the definition of %s: %v", name, err))
		}
		definitions[name] = corrected
	}
}

// patched returns a definition with a merge patch applied to its schema.
func patched(definition common.OpenAPIDefinition, patch []byte) (common.OpenAPIDefinition, error) {
	text, err := json.Marshal(definition.Schema)
	if err != nil {
		return definition, err
	}
	if text, err = jsonpatch.MergePatch(text, patch); err != nil {
		return definition, err
	}
	corrected := common.OpenAPIDefinition{}
	if err := json.Unmarshal(text, &corrected.Schema); err != nil {
		return definition, err
	}
	for _, name := range definition.Dependencies {
		if strings.Contains(string(text), "/"+common.EscapeJsonPointer(name)+`"`) {
			corrected.Dependencies = append(corrected.Dependencies, name)
		}
	}
	return corrected, nil
}

// laterFields returns the names of the later fields of a definition.
func (a *api) laterFields(name string) map[string]bool {
	var patch struct {
		Properties map[string]json.RawMessage
	}
	if text := a.Definitions[name]; text == nil || json.Unmarshal(text, &patch) != nil {
		return nil
	}
	later := map[string]bool{}
	for field, change := range patch.Properties {
		if string(change) == "null" {
			later[field] = true
		}
	}
	return later
}
