package crd

import (
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/tidwall/gjson"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

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

	mu      sync.Mutex
	valid   *verdict   // the last one without errors
	running []*verdict // those that are computed
}

// verdict is what validation says about a definition with the spec.
type verdict struct {
	crd     *apiextensions.CustomResourceDefinition     // see validated
	old     *apiextensions.CustomResourceDefinition     // the same of the one that it replaces; nil: it is new
	oldSpec *apiextensions.CustomResourceDefinitionSpec // of that one
	errs    func() field.ErrorList                      // computes them once
}

// share replaces the spec of a definition by an equal one that other definitions have, or makes it one that
// others may have, and returns it. The caller must not alter the spec afterwards. Size is the size of the
// definition's text.
func share(crd *apiextensions.CustomResourceDefinition, size int) *sharedSpec {
	s := &sharedSpec{spec: crd.Spec, size: size}
	s.warnings = sync.OnceValue(func() []string { return append(formatWarnings(&s.spec), setWarnings(&s.spec)...) })
	s.structure = sync.OnceValue(func() apiextensions.CustomResourceDefinitionCondition { return structureOf(&s.spec) })
	s.asItIs = sync.OnceValue(func() bool { return readsAsItIs(&s.spec) })
	for {
		present, _ := sharedSpecs.Get(resourceOf(&s.spec))
		if present.equals(&crd.Spec) {
			crd.Spec = present.spec
			return present
		}
		if sharedSpecs.ReplaceIf(resourceOf(&s.spec), s, s.size, func(now *sharedSpec, _ bool) bool { return now == present }) {
			return s
		}
	}
}

// put makes a spec the last one of its group and plural name.
func (s *sharedSpec) put() { sharedSpecs.Replace(resourceOf(&s.spec), s, s.size) }

// sharedSpecOf returns the shared spec that equals a spec, or nil.
func sharedSpecOf(spec *apiextensions.CustomResourceDefinitionSpec) *sharedSpec {
	s, _ := sharedSpecs.Get(resourceOf(spec))
	if !s.equals(spec) {
		return nil
	}
	return s
}

// equals reports whether there is a shared spec that equals a spec. The comparison is fast for a spec that is shared: its pointers and slices are the same.
func (s *sharedSpec) equals(spec *apiextensions.CustomResourceDefinitionSpec) bool {
	return s != nil && reflect.DeepEqual(&s.spec, spec)
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

// validate returns what validate says about a definition with the spec, which may replace an old one. It does not call validate for a definition that is
// the same, in everything that validation looks at, as the last valid one; and for equal ones at the same time it calls validate once.
func (s *sharedSpec) validate(crd, old *apiextensions.CustomResourceDefinition, validate func() field.ErrorList) field.ErrorList {
	v := s.begin(newVerdict(crd, old), validate)
	defer s.end(v)
	return slices.Clone(v.errs())
}

func newVerdict(crd, old *apiextensions.CustomResourceDefinition) *verdict {
	v := &verdict{crd: validated(crd)}
	if old != nil {
		v.old, v.oldSpec = validated(old), &old.Spec
	}
	return v
}

// begin returns the verdict about equal definitions, or adds one.
func (s *sharedSpec) begin(v *verdict, validate func() field.ErrorList) *verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.valid != nil && s.valid.equals(v) {
		return s.valid
	}
	if i := slices.IndexFunc(s.running, v.equals); i >= 0 {
		return s.running[i]
	}
	v.errs = sync.OnceValue(func() field.ErrorList {
		errs := validate()
		if len(errs) == 0 {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.valid = v
		}
		return errs
	})
	s.running = append(s.running, v)
	return v
}

// end forgets a verdict that has been computed.
func (s *sharedSpec) end(v *verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = slices.DeleteFunc(s.running, func(other *verdict) bool { return other == v })
}

// equals reports whether two verdicts are about the same.
func (v *verdict) equals(other *verdict) bool {
	return reflect.DeepEqual(v.crd, other.crd) && reflect.DeepEqual(v.old, other.old) && reflect.DeepEqual(v.oldSpec, other.oldSpec)
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
