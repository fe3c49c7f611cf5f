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
// Upstream's validation no longer has that version. But a definition that was once stored
// under the rules of v1beta1 can still be updated, and the update is held to no stricter
// rules. So what is written in v1beta1 is validated as an update of such a definition.
type legacyStrategy struct{ definitionStrategy }

func (legacyStrategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	crd := obj.(*apiextensions.CustomResourceDefinition)
	errs := validateNewMetadata(ctx, crd)
	crd = crd.DeepCopy()
	errs = append(errs, takeDefaults(&crd.Spec)...)

	// The metadata is validated elsewhere, but validation of an update requires a
	// resourceVersion.
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

// validateNewMetadata validates the metadata of a new definition as v1 does, except that
// v1beta1 does not ask for an approval.
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

// approvalAnnotation is required of definitions in the groups of the Kubernetes community.
const approvalAnnotation = apiextensionsv1beta1.KubeAPIApprovedAnnotation

// approve gives the old definition the approval of the new one, so that any value passes,
// as in v1beta1.
func approve(former, crd *apiextensions.CustomResourceDefinition) {
	delete(former.Annotations, approvalAnnotation)
	if approval, ok := crd.Annotations[approvalAnnotation]; ok {
		metav1.SetMetaDataAnnotation(&former.ObjectMeta, approvalAnnotation, approval)
	}
}

// loosen changes an old definition so that its update is held to the rules of v1beta1 only.
// It makes the old definition preserve unknown fields, and adds two versions: one without a
// schema, and one with a schema that is not structural and has an unknown type. Their name
// is not a valid name of a version.
func loosen(former *apiextensions.CustomResourceDefinition) {
	former.Spec.PreserveUnknownFields = ptr.To(true)
	if shared := former.Spec.Validation; shared != nil {
		former.Spec.Validation = nil // every version has this schema or its own
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
