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

// legacyKind is the kind of definitions in v1beta1, which was served until 1.21.
var legacyKind = apiextensionsv1beta1.SchemeGroupVersion.WithKind(kind.Kind)

// legacyWarning is the warning of every response in that version.
const legacyWarning = "apiextensions.k8s.io/v1beta1 CustomResourceDefinition is deprecated in v1.16+, " +
	"unavailable in v1.22+; use apiextensions.k8s.io/v1 CustomResourceDefinition"

// legacyStrategy is the strategy for definitions in v1beta1.
//
// Upstream's validation no longer has that version. But it does not apply stricter rules to the update of a definition
// that was stored under the rules of v1beta1. So a write in v1beta1 is validated as an update of such a definition.
type legacyStrategy struct{ definitionStrategy }

func (legacyStrategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	crd := obj.(*apiextensions.CustomResourceDefinition)
	errs := validateNewMetadata(ctx, crd)
	crd = crd.DeepCopy()
	errs = append(errs, takeDefaults(&crd.Spec)...)

	// Validation of an update requires a resourceVersion; the rest of the metadata is validated elsewhere.
	crd.ObjectMeta = metav1.ObjectMeta{Name: crd.Name, ResourceVersion: "1"}
	former := &apiextensions.CustomResourceDefinition{ObjectMeta: crd.ObjectMeta}
	former.Spec.Group, former.Spec.Names.Plural = crd.Spec.Group, crd.Spec.Names.Plural
	loosen(former)
	return append(errs, validation.ValidateCustomResourceDefinitionUpdate(ctx, crd, former)...)
}

func (legacyStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	crd, former := obj.(*apiextensions.CustomResourceDefinition), old.(*apiextensions.CustomResourceDefinition).DeepCopy()
	var errs field.ErrorList
	if !hasDefaults(&former.Spec) {
		crd = crd.DeepCopy()
		errs = takeDefaults(&crd.Spec)
	}
	loosen(former)
	approve(former, crd)
	return append(errs, validation.ValidateCustomResourceDefinitionUpdate(ctx, crd, former)...)
}

// validateNewMetadata validates the metadata of a new definition as v1 does, but without the approval, which v1beta1
// does not require.
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

// approvalAnnotation is required for definitions in *.k8s.io and *.kubernetes.io groups.
const approvalAnnotation = apiextensionsv1beta1.KubeAPIApprovedAnnotation

// approve copies the approval to the old definition, so that any value is valid, as in v1beta1.
func approve(former, crd *apiextensions.CustomResourceDefinition) {
	delete(former.Annotations, approvalAnnotation)
	if approval, ok := crd.Annotations[approvalAnnotation]; ok {
		metav1.SetMetaDataAnnotation(&former.ObjectMeta, approvalAnnotation, approval)
	}
}

// loosen changes an old definition so that only the rules of v1beta1 apply to its update. The old definition preserves
// unknown fields, and gets two versions: one without a schema, and one with a schema that is not structural and has an
// unknown type. Their names are not valid names of versions.
func loosen(former *apiextensions.CustomResourceDefinition) {
	former.Spec.PreserveUnknownFields = ptr.To(true)
	if shared := former.Spec.Validation; shared != nil {
		former.Spec.Validation = nil // the versions have this schema
		for i := range former.Spec.Versions {
			former.Spec.Versions[i].Schema = shared
		}
	}
	former.Spec.Versions = append(former.Spec.Versions,
		apiextensions.CustomResourceDefinitionVersion{},
		apiextensions.CustomResourceDefinitionVersion{Schema: &apiextensions.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "any"},
		}})
}

// hasDefaults reports whether a schema of a definition has a default.
func hasDefaults(spec *apiextensions.CustomResourceDefinitionSpec) bool {
	return validation.HasSchemaWith(spec, func(s *apiextensions.JSONSchemaProps) bool {
		return validation.SchemaHas(s, func(s *apiextensions.JSONSchemaProps) bool { return s.Default != nil })
	})
}
