package crd

import (
	"reflect"
	"strconv"
	"sync"

	"github.com/tidwall/gjson"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/cache"
)

// A definition may have hundreds of kilobytes, nearly all of them its spec, and the server
// looks at it several times to install it. Test suites install the same ones over and over.
// So definitions with equal specs share one spec, and nothing alters it. A sharedSpec keeps what has
// been computed from it.

// sharedBytes bounds the text of the definitions that each of the two caches has.
const sharedBytes = 16 << 20

var (
	// readDefinitions has definitions by the body of their request.
	readDefinitions = cache.New[cache.ID, readDefinition](sharedBytes)

	// sharedSpecs has the last spec of each group and plural name. Specs that differ replace each other.
	sharedSpecs = cache.New[schema.GroupResource, *sharedSpec](sharedBytes)
)

// readDefinition is a definition with its spec, which is shared.
type readDefinition struct {
	crd    *apiextensions.CustomResourceDefinition
	shared *sharedSpec
}

// sharedSpec is a spec with what has been computed from it. The spec never changes; what is computed is
// computed when it is first needed. It is safe for concurrent use.
type sharedSpec struct {
	spec      apiextensions.CustomResourceDefinitionSpec
	size      int // of the text of a definition that has the spec
	warnings  func() []string
	structure func() apiextensions.CustomResourceDefinitionCondition // see structureOf
	asItIs    func() bool                                            // see readsAsItIs

	mu    sync.Mutex
	valid *apiextensions.CustomResourceDefinition // the last one found valid, see validated
}

// share replaces the spec of a definition by an equal one that other definitions have, or makes it one that
// others may have, and returns it. The caller must not alter the spec afterwards. Size is the size of the
// definition's text.
func share(crd *apiextensions.CustomResourceDefinition, size int) *sharedSpec {
	if s := sharedSpecOf(&crd.Spec); s != nil {
		crd.Spec = s.spec
		return s
	}
	s := &sharedSpec{spec: crd.Spec, size: size}
	s.warnings = sync.OnceValue(func() []string { return append(formatWarnings(&s.spec), setWarnings(&s.spec)...) })
	s.structure = sync.OnceValue(func() apiextensions.CustomResourceDefinitionCondition { return structureOf(&s.spec) })
	s.asItIs = sync.OnceValue(func() bool { return readsAsItIs(&s.spec) })
	s.put()
	return s
}

// put makes a spec the last one of its group and plural name.
func (s *sharedSpec) put() { sharedSpecs.Replace(resourceOf(&s.spec), s, s.size) }

// sharedSpecOf returns the shared spec that equals a spec, or nil.
func sharedSpecOf(spec *apiextensions.CustomResourceDefinitionSpec) *sharedSpec {
	s, ok := sharedSpecs.Get(resourceOf(spec))
	// The comparison is fast for a spec that is shared: its pointers and slices are the same.
	if !ok || !reflect.DeepEqual(&s.spec, spec) {
		return nil
	}
	return s
}

func resourceOf(spec *apiextensions.CustomResourceDefinitionSpec) schema.GroupResource {
	return schema.GroupResource{Group: spec.Group, Resource: spec.Names.Plural}
}

// copyDefinition returns a copy that shares the spec.
func copyDefinition(crd *apiextensions.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	c := &apiextensions.CustomResourceDefinition{TypeMeta: crd.TypeMeta, Spec: crd.Spec}
	crd.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	crd.Status.DeepCopyInto(&c.Status)
	return c
}

// schemaIDs returns the hash of each version's schema in the text of a stored definition.
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

// wasValid reports whether a definition that is the same in everything that validation looks
// at was found valid before.
func (s *sharedSpec) wasValid(crd *apiextensions.CustomResourceDefinition) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.valid != nil && reflect.DeepEqual(s.valid, validated(crd))
}

func (s *sharedSpec) setValid(crd *apiextensions.CustomResourceDefinition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.valid = validated(crd)
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
