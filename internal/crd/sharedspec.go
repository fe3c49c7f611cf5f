package crd

import (
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/tidwall/gjson"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fakecluster/fakecluster/internal/cache"
)

// A definition may have hundreds of kilobytes, nearly all of them in its spec, and the server reads it several times to
// install it. Test suites install the same ones again and again. So definitions with equal specs share one immutable
// spec. A sharedSpec also caches what is computed from the spec.

// sharedBytes bounds the JSON of the definitions in each of the two caches, in bytes.
const sharedBytes = 16 << 20

var (
	// readDefinitions caches definitions by the hash of the request's body.
	readDefinitions = cache.New[cache.ID, readDefinition](sharedBytes)

	// sharedSpecs has the latest spec of each group and plural name.
	sharedSpecs = cache.New[schema.GroupResource, *sharedSpec](sharedBytes)
)

// readDefinition is a definition with its shared spec.
type readDefinition struct {
	crd    *apiextensions.CustomResourceDefinition
	shared *sharedSpec
}

// sharedSpec is an immutable spec with values that are computed from it when they are first needed. It is safe for
// concurrent use.
type sharedSpec struct {
	spec      apiextensions.CustomResourceDefinitionSpec
	size      int // of the JSON of a definition with the spec
	warnings  func() []string
	structure func() apiextensions.CustomResourceDefinitionCondition // see structureOf
	asItIs    func() bool                                            // see readsAsItIs

	mu      sync.Mutex
	valid   *verdict   // the latest one without errors
	running []*verdict // being computed
}

// verdict is the result of the validation of a definition with the spec.
type verdict struct {
	crd     *apiextensions.CustomResourceDefinition     // see validated
	old     *apiextensions.CustomResourceDefinition     // the old definition, as by validated; nil: a create
	oldSpec *apiextensions.CustomResourceDefinitionSpec // of the old definition
	errs    func() field.ErrorList                      // computes them once
}

// share replaces the spec of a definition by an equal shared one, or shares its spec, and returns it. The caller must
// not alter the spec afterwards. size is the size of the definition's JSON.
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

// put makes the spec the latest one of its group and plural name.
func (s *sharedSpec) put() { sharedSpecs.Replace(resourceOf(&s.spec), s, s.size) }

// sharedSpecOf returns the shared spec that equals a spec, or nil.
func sharedSpecOf(spec *apiextensions.CustomResourceDefinitionSpec) *sharedSpec {
	s, _ := sharedSpecs.Get(resourceOf(spec))
	if !s.equals(spec) {
		return nil
	}
	return s
}

// equals reports whether the shared spec, which may be nil, equals a spec. It is fast for the shared spec itself, whose
// pointers and slices are the same.
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

// schemaIDs returns the hash of each version's schema in the JSON of a stored definition.
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

// validate returns the errors of a definition with the spec; old is nil for a create. It does not call the function
// validate for a definition that equals the latest valid one in everything that validation reads, and calls it once for
// equal definitions at the same time.
func (s *sharedSpec) validate(crd, old *apiextensions.CustomResourceDefinition, validate func() field.ErrorList) field.ErrorList {
	v := s.begin(newVerdict(crd, old), validate)
	defer s.end(v)
	return slices.Clone(v.errs())
}

func newVerdict(crd, old *apiextensions.CustomResourceDefinition) *verdict {
	v := &verdict{crd: validated(crd)}
	if old == nil {
		return v
	}
	v.old, v.oldSpec = validated(old), &old.Spec
	// A client may send others than those of the old definition, which are invalid.
	if crd.UID != old.UID {
		v.crd.UID = crd.UID
	}
	if !crd.CreationTimestamp.Equal(&old.CreationTimestamp) {
		v.crd.CreationTimestamp = crd.CreationTimestamp
	}
	return v
}

// begin returns the verdict for equal definitions, or adds one.
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

// end removes a verdict that has been computed from running.
func (s *sharedSpec) end(v *verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = slices.DeleteFunc(s.running, func(other *verdict) bool { return other == v })
}

// equals reports whether two verdicts are for equal definitions.
func (v *verdict) equals(other *verdict) bool {
	return reflect.DeepEqual(v.crd, other.crd) && reflect.DeepEqual(v.old, other.old) && reflect.DeepEqual(v.oldSpec, other.oldSpec)
}

// validated returns a definition without its spec and without metadata that the server sets. Wrong managedFields are
// from a client.
func validated(crd *apiextensions.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	c := &apiextensions.CustomResourceDefinition{}
	crd.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	crd.Status.DeepCopyInto(&c.Status)
	c.UID, c.ResourceVersion, c.CreationTimestamp = "", "", metav1.Time{}
	if len(metav1validation.ValidateManagedFields(c.ManagedFields, field.NewPath("metadata", "managedFields"))) == 0 {
		c.ManagedFields = nil
	}
	return c
}
