package release

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// files has the file of each older version.
//
//go:embed api-*.json
var files embed.FS

// api has the differences of an older release from the newest one.
type api struct {
	// Release is the release whose documents were compared, such as v1.35.4.
	Release string
	// Lacks are resources and subresources that are missing in a group version of the release, such as
	// "storage.k8s.io/v1 csinodes/status".
	Lacks []string
	// Definitions are the merge patches of definitions, by their names.
	Definitions map[string]json.RawMessage
}

func fileName(version string) string { return "api-" + version + ".json" }

// apiOf reads the file of a version.
func apiOf(version string) (*api, error) {
	text, err := files.ReadFile(fileName(version))
	if err != nil {
		return nil, err
	}
	read := &api{}
	return read, json.Unmarshal(text, read)
}

// own has the differences of the process from the newest release; nil: none.
var own = sync.OnceValue(func() *api {
	version := Older()
	if version == "" {
		return nil
	}
	found, err := apiOf(version)
	if err != nil {
		panic(fmt.Sprintf("the embedded file of Kubernetes %s: %v", version, err))
	}
	return found
})

// Lacks reports whether the release of the process lacks a resource or subresource, such as csinodes/status, in a group
// version.
func Lacks(version schema.GroupVersion, name string) bool {
	return own() != nil && slices.Contains(own().Lacks, version.String()+" "+name)
}

// alwaysThere are the definitions with later fields that encoding/json always writes: structs.
var alwaysThere = []string{"io.k8s.api.resource.v1alpha3.DeviceTaintRule", "io.k8s.api.storage.v1.CSINode"}

// Correct changes definitions of the newest release into those of the process's release.
func Correct(definitions map[string]common.OpenAPIDefinition) { own().correct(definitions) }

// CorrectForValues is Correct for definitions that describe Go values. Later fields that encoding/json always writes
// stay.
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

// CorrectSchemas is Correct for schemas of a document.
func CorrectSchemas[S spec.Schema | *spec.Schema](schemas map[string]S) {
	correctSchemas(own(), schemas)
}

// correctSchemas corrects the schemas. It drops a schema to which only later fields refer.
func correctSchemas[S spec.Schema | *spec.Schema](a *api, schemas map[string]S) {
	if a == nil {
		return
	}
	before := marshal(schemas)
	for name, patch := range a.Definitions {
		if schema, found := schemas[name]; found {
			corrected, _, err := patchedSchema(schema, patch)
			if err != nil {
				panic(fmt.Sprintf("correcting the schema of %s: %v", name, err))
			}
			schemas[name] = corrected
		}
	}
	after := marshal(schemas)
	maps.DeleteFunc(schemas, func(name string, _ S) bool { return refers(before, name) && !refers(after, name) })
}

// marshal returns the JSON of schemas.
func marshal(schemas any) []byte {
	text, err := json.Marshal(schemas)
	if err != nil {
		panic(err) // they were read from JSON
	}
	return text
}

// refers reports whether schemas refer to a definition.
func refers(schemas []byte, name string) bool {
	return bytes.Contains(schemas, []byte("/"+common.EscapeJsonPointer(name)+`"`))
}

// patchedSchema returns a schema with a merge patch applied to it, and its JSON.
func patchedSchema[S spec.Schema | *spec.Schema](schema S, patch []byte) (corrected S, text []byte, err error) {
	if text, err = json.Marshal(schema); err != nil {
		return schema, nil, err
	}
	if text, err = jsonpatch.MergePatch(text, patch); err != nil {
		return schema, nil, err
	}
	err = json.Unmarshal(text, &corrected)
	return corrected, text, err
}

// patched returns a definition with a merge patch applied to its schema.
func patched(definition common.OpenAPIDefinition, patch []byte) (common.OpenAPIDefinition, error) {
	schema, text, err := patchedSchema(definition.Schema, patch)
	if err != nil {
		return definition, err
	}
	corrected := common.OpenAPIDefinition{Schema: schema}
	for _, name := range definition.Dependencies {
		if refers(text, name) {
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
