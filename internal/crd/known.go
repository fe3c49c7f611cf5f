package crd

import (
	"reflect"
	"strconv"
	"sync"
	"unsafe"

	"github.com/tidwall/gjson"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/cache"
)

// A definition may have hundreds of kilobytes, nearly all of them its spec, and the server
// looks at it several times to install it. Test suites install the same ones over and over.
// So a spec is decoded once for each text. All definitions with that text share the spec,
// and nothing alters it. A knownSpec remembers what has been computed from the spec.

// knownBytes bounds the text of the definitions that each of the two caches remembers.
const knownBytes = 16 << 20

var (
	// readDefinitions has definitions by the body of their request.
	readDefinitions = cache.New[cache.ID, *apiextensions.CustomResourceDefinition](knownBytes)

	// knownSpecs has specs by the address of their versions in memory.
	knownSpecs = cache.New[*apiextensions.CustomResourceDefinitionVersion, *knownSpec](knownBytes)
)

// knownSpec is a spec with what has been computed from it. The spec never changes; the
// fields below mu are filled when they are first needed. It is safe for concurrent use.
type knownSpec struct {
	spec      apiextensions.CustomResourceDefinitionSpec // shared
	warnings  func() []string
	structure func() apiextensions.CustomResourceDefinitionCondition // see structureOf

	mu      sync.Mutex
	texts   map[schema.GroupVersionKind]string      // the spec's JSON in each version of CustomResourceDefinition
	schemas map[string]cache.ID                     // the hash of each version's schema
	valid   *apiextensions.CustomResourceDefinition // the last one found valid, see validated
}

// remember makes the spec of a definition known. The caller must not alter the spec
// afterwards. Size is the size of the definition's text.
func remember(crd *apiextensions.CustomResourceDefinition, size int) {
	if len(crd.Spec.Versions) == 0 {
		return
	}
	k := &knownSpec{spec: crd.Spec}
	k.warnings = sync.OnceValue(func() []string { return append(formatWarnings(&k.spec), setWarnings(&k.spec)...) })
	k.structure = sync.OnceValue(func() apiextensions.CustomResourceDefinitionCondition { return structureOf(&k.spec) })
	knownSpecs.Put(unsafe.SliceData(crd.Spec.Versions), k, size)
}

// known returns the knownSpec of a spec, or nil.
func known(spec *apiextensions.CustomResourceDefinitionSpec) *knownSpec {
	k, ok := knownSpecs.Get(unsafe.SliceData(spec.Versions))
	// This is fast for what is shared, and the rest may differ.
	if !ok || !reflect.DeepEqual(&k.spec, spec) {
		return nil
	}
	return k
}

// copyDefinition returns a copy that shares the spec.
func copyDefinition(crd *apiextensions.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	c := &apiextensions.CustomResourceDefinition{TypeMeta: crd.TypeMeta, Spec: crd.Spec}
	crd.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	crd.Status.DeepCopyInto(&c.Status)
	return c
}

// text returns the JSON of the spec in a version, if it is known.
func (k *knownSpec) text(kind schema.GroupVersionKind) (string, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	text, ok := k.texts[kind]
	return text, ok
}

func (k *knownSpec) setText(kind schema.GroupVersionKind, text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.texts == nil {
		k.texts = map[schema.GroupVersionKind]string{}
	}
	k.texts[kind] = text
}

// schemaIDs returns the hash of each version's schema. The definition is the stored text of
// one that has the spec.
func (k *knownSpec) schemaIDs(definition string) map[string]cache.ID {
	if k == nil {
		return schemaIDs(definition)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.schemas == nil {
		k.schemas = schemaIDs(definition)
	}
	return k.schemas
}

func schemaIDs(definition string) map[string]cache.ID {
	ids := map[string]cache.ID{}
	spec := gjson.Get(definition, "spec")
	preserve := strconv.FormatBool(spec.Get("preserveUnknownFields").Bool())
	spec.Get("versions").ForEach(func(_, v gjson.Result) bool {
		ids[v.Get("name").String()] = cache.NewID(v.Get("schema").Raw, preserve)
		return true
	})
	return ids
}

// wasValid tells whether a definition that is the same in everything that validation looks
// at was found valid before.
func (k *knownSpec) wasValid(crd *apiextensions.CustomResourceDefinition) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.valid != nil && reflect.DeepEqual(k.valid, validated(crd))
}

func (k *knownSpec) setValid(crd *apiextensions.CustomResourceDefinition) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.valid = validated(crd)
}

// validated returns a definition without its spec, and without what the server sets for
// each definition.
func validated(crd *apiextensions.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	c := &apiextensions.CustomResourceDefinition{}
	crd.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	crd.Status.DeepCopyInto(&c.Status)
	c.UID, c.ResourceVersion, c.CreationTimestamp, c.ManagedFields = "", "", metav1.Time{}, nil
	return c
}
