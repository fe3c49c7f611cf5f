package crd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/operation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage/names"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/metadata"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/schema"
)

// customStrategy is the behaviour of apiextensions-apiserver's
// pkg/registry/customresource for one version.
type customStrategy struct {
	runtime.ObjectTyper
	names.NameGenerator

	kind       runtimeschema.GroupVersionKind
	namespaced bool
	schema     *compiledSchema
	hasStatus  bool
	scale      *apiextensions.CustomResourceSubresourceScale

	informed *resource.Informed // the facts about the objects of one write; nil: none
}

// inform returns the strategy with the facts about one write.
func (s customStrategy) inform(informed resource.Informed) resource.Strategy {
	s.informed = &informed
	return s
}

// facts returns the facts about an object, and stores them for later stages. former is nil for a create. It checks only
// what no fact covers yet.
func (s customStrategy) facts(u, former *unstructured.Unstructured) schema.Result {
	walk := schema.Walk{Check: requiredFacts}
	if s.informed != nil {
		walk.Verified, walk.LikeVerified = *s.informed.Facts, s.informed.Former
	}
	if former != nil {
		walk.Like = former.Object
	}
	found := s.schema.node.Normalize(u.Object, walk)
	if s.informed != nil {
		*s.informed.Facts = found.Parts
	}
	return found
}

func (s customStrategy) NamespaceScoped() bool { return s.namespaced }

func (s customStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	u := obj.(*unstructured.Unstructured)
	if s.hasStatus {
		delete(u.Object, "status")
		s.statusIs(requiredFacts)
	}
	u.SetGeneration(1)
}

func (s customStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	u, former := obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured)
	if s.hasStatus {
		take(u.Object, former.Object, "status")
		if s.informed != nil {
			s.statusIs(s.informed.Former.Status)
		}
	}
	if !json.EqualExcept("metadata", u.Object, former.Object) {
		u.SetGeneration(former.GetGeneration() + 1)
	}
}

// statusIs stores the facts about the current status of the object.
func (s customStrategy) statusIs(facts schema.Facts) {
	if s.informed != nil {
		s.informed.Facts.Status = facts
	}
}

func (s customStrategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	u := obj.(*unstructured.Unstructured)
	facts := s.facts(u, nil).Facts
	errs := s.validateType(u)
	if len(errs) == 0 {
		if !s.metadataIsValid(u, nil) {
			errs = append(errs, s.validateMetadata(ctx, u)...)
		}
		if !facts.Has(schema.Valid) {
			errs = append(errs, validation.ValidateCustomResource(nil, u.Object, s.schema.validator())...)
		}
		errs = append(errs, s.validateScale(u, true)...)
	}
	errs = append(errs, s.validateEmbedded(ctx, u, facts)...)
	if !facts.Has(schema.Distinct) {
		errs = append(errs, s.validateLists(u)...)
	}
	return append(errs, s.validateRules(ctx, errs, u, nil, nil)...)
}

func (s customStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	u, former := obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured)
	facts := s.facts(u, former).Facts
	var ratchet *common.CorrelatedObject
	if !facts.Has(schema.Valid) {
		ratchet = s.correlate(u, former)
	}
	errs := s.validateType(u)
	if len(errs) == 0 {
		if !s.metadataIsValid(u, former) {
			errs = append(errs, s.validateMetadataUpdate(ctx, u, former)...)
		}
		if !facts.Has(schema.Valid) {
			errs = append(errs, validation.ValidateCustomResourceUpdate(nil, u.Object, former.Object, s.schema.validator(), s.ratcheting(ratchet)...)...)
		}
		errs = append(errs, s.validateScale(u, true)...)
	}
	errs = append(errs, s.validateEmbedded(ctx, u, facts)...)
	errs = append(errs, s.validateListsUpdate(u, former, facts)...)
	return append(errs, s.validateRules(ctx, errs, u, former, ratchet)...)
}

// correlate pairs the nodes of the new object with those of the old one, for ratcheting. It returns nil for an object
// that is valid by its facts and satisfies all rules, because ratcheting has no effect then.
func (s customStrategy) correlate(u, former *unstructured.Unstructured) *common.CorrelatedObject {
	return common.NewCorrelatedObject(u.Object, former.Object, &model.Structural{Structural: s.schema.structural})
}

// validateEmbedded validates the metadata of embedded resources.
func (s customStrategy) validateEmbedded(ctx context.Context, u *unstructured.Unstructured, facts schema.Facts) field.ErrorList {
	if facts.Has(schema.EmbeddedValid) {
		return nil
	}
	return objectmeta.Validate(ctx, nil, u.Object, s.schema.structural, false)
}

// validateLists rejects duplicates in sets and map-like lists.
func (s customStrategy) validateLists(u *unstructured.Unstructured) field.ErrorList {
	return listtype.ValidateListSetsAndMaps(nil, s.schema.structural, u.Object)
}

// ratcheting returns the options with which validation by the schema accepts unchanged values below a path. Without a
// structural schema nodes cannot be paired, and the whole object is validated. (Upstream dereferences a nil pointer
// there.)
func (s customStrategy) ratcheting(ratchet *common.CorrelatedObject, path ...string) []validation.ValidationOption {
	if s.schema.structural == nil {
		return nil
	}
	for _, key := range path {
		ratchet = ratchet.Key(key)
	}
	return []validation.ValidationOption{validation.WithRatcheting(ratchet)}
}

// validateListsUpdate rejects duplicates in sets and map-like lists, unless the old object had some.
func (s customStrategy) validateListsUpdate(u, former *unstructured.Unstructured, facts schema.Facts) field.ErrorList {
	if facts.Has(schema.Distinct) {
		return nil
	}
	errs := s.validateLists(u)
	if len(errs) > 0 && len(s.validateLists(former)) > 0 {
		return nil
	}
	return errs
}

// validateRules evaluates the CEL rules, unless earlier errors make their results meaningless. ratchet may be nil.
func (s customStrategy) validateRules(ctx context.Context, soFar field.ErrorList, u, former *unstructured.Unstructured, ratchet *common.CorrelatedObject) field.ErrorList {
	rules := s.schema.rules()
	if rules == nil {
		return nil
	}
	for _, err := range soFar {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return field.ErrorList{field.Invalid(nil, nil,
				"some validation rules were not checked because the object was invalid; correct the existing errors to complete validation")}
		}
	}
	if former == nil {
		return rules.Validate(ctx, u.Object, nil, func() []cel.Option { return nil })
	}
	return rules.Validate(ctx, u.Object, former.Object, func() []cel.Option {
		if ratchet == nil {
			ratchet = s.correlate(u, former)
		}
		return []cel.Option{cel.WithRatcheting(ratchet)}
	})
}

func (s customStrategy) validateType(u *unstructured.Unstructured) field.ErrorList {
	var errs field.ErrorList
	if u.GetKind() != s.kind.Kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), u.GetKind(), fmt.Sprintf("must be %v", s.kind.Kind)))
	}
	if want := s.kind.GroupVersion().String(); u.GetAPIVersion() != want {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), u.GetAPIVersion(), fmt.Sprintf("must be %v", want)))
	}
	return errs
}

func (s customStrategy) validateMetadata(ctx context.Context, u *unstructured.Unstructured) field.ErrorList {
	metadata, errs := objectMeta(u)
	if len(errs) > 0 {
		return errs
	}
	return apivalidation.ValidateObjectMetaDeclaratively(ctx, operation.Create, metadata, nil, s.namespaced,
		apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"), declarativeBeta())
}

func (s customStrategy) validateMetadataUpdate(ctx context.Context, u, former *unstructured.Unstructured) field.ErrorList {
	metadata, errs := objectMeta(u)
	if len(errs) > 0 {
		return errs
	}
	old, errs := objectMeta(former)
	if len(errs) > 0 {
		return errs
	}
	return apivalidation.ValidateObjectMetaDeclaratively(ctx, operation.Update, metadata, old, s.namespaced,
		nil, field.NewPath("metadata"), declarativeBeta())
}

// declarativeBeta reports whether beta declarative validation rules are enforced.
func declarativeBeta() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.DeclarativeValidationBeta)
}

func objectMeta(u *unstructured.Unstructured) (*metav1.ObjectMeta, field.ErrorList) {
	m := &metav1.ObjectMeta{}
	raw, ok := u.Object["metadata"].(map[string]any)
	if !ok {
		return m, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, m); err != nil {
		return nil, field.ErrorList{field.Invalid(field.NewPath("metadata"), raw, err.Error())}
	}
	return m, nil
}

// validateScale validates the fields that the scale subresource reads. spec is false for a write to the status.
func (s customStrategy) validateScale(u *unstructured.Unstructured, spec bool) field.ErrorList {
	if s.scale == nil {
		return nil
	}
	var errs field.ErrorList
	if spec {
		errs = append(errs, validateReplicas(u, s.scale.SpecReplicasPath)...)
	}
	errs = append(errs, validateReplicas(u, s.scale.StatusReplicasPath)...)
	if path := s.scale.LabelSelectorPath; path != nil {
		if selector, _, err := unstructured.NestedString(u.Object, splitPath(*path)...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*path), selector, err.Error()))
		}
	}
	return errs
}

func validateReplicas(u *unstructured.Unstructured, path string) field.ErrorList {
	const maxInt32 = 1<<31 - 1
	replicas, _, err := unstructured.NestedInt64(u.Object, splitPath(path)...)
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(field.NewPath(path), replicas, err.Error())}
	case replicas < 0:
		return field.ErrorList{field.Invalid(field.NewPath(path), replicas, "should be a non-negative integer")}
	case replicas > maxInt32:
		return field.ErrorList{field.Invalid(field.NewPath(path), replicas, fmt.Sprintf("should be less than or equal to %v", maxInt32))}
	}
	return nil
}

func splitPath(jsonPath string) []string {
	return strings.Split(strings.TrimPrefix(jsonPath, "."), ".")
}

func (customStrategy) Canonicalize(runtime.Object)                   {}
func (customStrategy) AllowCreateOnUpdate(context.Context) bool      { return false }
func (customStrategy) AllowUnconditionalUpdate(context.Context) bool { return false }

func (customStrategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return finalizerWarnings(obj.(*unstructured.Unstructured).GetFinalizers(), nil)
}

func (customStrategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	return finalizerWarnings(obj.(*unstructured.Unstructured).GetFinalizers(), old.(*unstructured.Unstructured).GetFinalizers())
}

// finalizerWarnings returns warnings for added finalizers whose names are not qualified by a domain.
func finalizerWarnings(finalizers, before []string) []string {
	var warnings []string
	path := field.NewPath("metadata", "finalizers")
	for _, f := range slices.Compact(slices.Sorted(slices.Values(finalizers))) {
		if slices.Contains(before, f) {
			continue
		}
		for _, msg := range utilvalidation.IsQualifiedName(f) {
			warnings = append(warnings, fmt.Sprintf("%s: %q: %s", path, f, msg))
		}
		switch {
		case strings.Contains(f, "/"), f == metav1.FinalizerOrphanDependents, f == metav1.FinalizerDeleteDependents, f == string(corev1.FinalizerKubernetes):
		case strings.Contains(f, "."):
			warnings = append(warnings, fmt.Sprintf("%s: %q: prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers", path, f))
		default:
			warnings = append(warnings, fmt.Sprintf("%s: %q: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers", path, f))
		}
	}
	return warnings
}

// metadataIsValid is MetadataIsValid, unless the pipeline has already called it.
func (s customStrategy) metadataIsValid(u, former *unstructured.Unstructured) bool {
	return s.informed != nil && s.informed.ValidMetadata || s.MetadataIsValid(u, former)
}

// MetadataIsValid is resource.Version.MetadataIsValid.
func (s customStrategy) MetadataIsValid(obj, old runtime.Object) bool {
	current, _ := obj.(*unstructured.Unstructured).Object["metadata"].(map[string]any)
	var before map[string]any
	if u, ok := old.(*unstructured.Unstructured); ok && u != nil {
		if before, _ = u.Object["metadata"].(map[string]any); before == nil {
			return false
		}
	}
	return metadata.IsValid(current, before, s.namespaced)
}
