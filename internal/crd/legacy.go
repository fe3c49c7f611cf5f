package crd

import (
	"context"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// legacyKind is the kind of definitions in the version that was served until 1.21.
var legacyKind = apiextensionsv1beta1.SchemeGroupVersion.WithKind(kind.Kind)

// legacyWarning comes with every answer in that version.
const legacyWarning = "apiextensions.k8s.io/v1beta1 CustomResourceDefinition is deprecated in v1.16+, " +
	"unavailable in v1.22+; use apiextensions.k8s.io/v1 CustomResourceDefinition"

// legacyStrategy is the behaviour of definitions that are written in v1beta1.
//
// Upstream's validation does not know that version any more. But it still holds a
// definition that was once stored under its rules to no more than those, so that
// such definitions can be updated. What is written in v1beta1 is validated as an
// update of one.
type legacyStrategy struct{ definitionStrategy }

func (legacyStrategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	crd := obj.(*apiextensions.CustomResourceDefinition)
	errs := validateNewMetadata(ctx, crd)
	crd = crd.DeepCopy()
	errs = append(errs, takeDefaults(&crd.Spec)...)

	// The metadata is not at stake here, but that of an update has a revision.
	crd.ObjectMeta = metav1.ObjectMeta{Name: crd.Name, ResourceVersion: "1"}
	was := &apiextensions.CustomResourceDefinition{ObjectMeta: crd.ObjectMeta}
	was.Spec.Group, was.Spec.Names.Plural = crd.Spec.Group, crd.Spec.Names.Plural
	loosen(was)
	return append(errs, validation.ValidateCustomResourceDefinitionUpdate(ctx, crd, was)...)
}

func (legacyStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	crd, was := obj.(*apiextensions.CustomResourceDefinition), old.(*apiextensions.CustomResourceDefinition).DeepCopy()
	var errs field.ErrorList
	if !hasDefaults(&was.Spec) {
		crd = crd.DeepCopy()
		errs = takeDefaults(&crd.Spec)
	}
	loosen(was)
	approve(was, crd)
	return append(errs, validation.ValidateCustomResourceDefinitionUpdate(ctx, crd, was)...)
}

// validateNewMetadata is what v1 says of the metadata of a new definition. v1beta1
// says the same, but for the approval, which it does not ask for.
func validateNewMetadata(ctx context.Context, crd *apiextensions.CustomResourceDefinition) field.ErrorList {
	bare := &apiextensions.CustomResourceDefinition{ObjectMeta: crd.ObjectMeta}
	bare.Spec.Group, bare.Spec.Names = crd.Spec.Group, crd.Spec.Names
	approval := field.NewPath("metadata", "annotations").Key(approvalAnnotation).String()
	var errs field.ErrorList
	for _, err := range validation.ValidateCustomResourceDefinition(ctx, bare) {
		if strings.HasPrefix(err.Field, "metadata.") && err.Field != approval {
			errs = append(errs, err)
		}
	}
	return errs
}

// approvalAnnotation is on definitions in the groups of the Kubernetes community.
const approvalAnnotation = apiextensionsv1beta1.KubeAPIApprovedAnnotation

// approve gives the old definition the approval of the new one: v1beta1 takes
// whatever there is.
func approve(was, crd *apiextensions.CustomResourceDefinition) {
	delete(was.Annotations, approvalAnnotation)
	if approval, ok := crd.Annotations[approvalAnnotation]; ok {
		metav1.SetMetaDataAnnotation(&was.ObjectMeta, approvalAnnotation, approval)
	}
}

// loosen makes an old definition one whose update is held to nothing that v1beta1
// did not ask for: it preserves unknown fields, and beside its own versions there
// is one without a schema, and one with a schema that is not structural and names a
// type that there is none of. Their name is none that a version can have.
func loosen(was *apiextensions.CustomResourceDefinition) {
	was.Spec.PreserveUnknownFields = ptr.To(true)
	if shared := was.Spec.Validation; shared != nil {
		was.Spec.Validation = nil // every version has either that or one of its own
		for i := range was.Spec.Versions {
			was.Spec.Versions[i].Schema = shared
		}
	}
	was.Spec.Versions = append(was.Spec.Versions,
		apiextensions.CustomResourceDefinitionVersion{},
		apiextensions.CustomResourceDefinitionVersion{Schema: &apiextensions.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "any"},
		}})
}

// hasDefaults tells whether a schema of a definition has a default.
func hasDefaults(spec *apiextensions.CustomResourceDefinitionSpec) bool {
	return validation.HasSchemaWith(spec, func(s *apiextensions.JSONSchemaProps) bool {
		return validation.SchemaHas(s, func(s *apiextensions.JSONSchemaProps) bool { return s.Default != nil })
	})
}
