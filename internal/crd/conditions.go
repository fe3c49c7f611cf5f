package crd

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// SetCondition sets or replaces a condition. Its lastTransitionTime changes only with its status.
func SetCondition(crd *apiextensions.CustomResourceDefinition, now metav1.Time, c apiextensions.CustomResourceDefinitionCondition) {
	c.LastTransitionTime = now
	former := apiextensions.FindCRDCondition(crd, c.Type)
	if former == nil {
		crd.Status.Conditions = append(crd.Status.Conditions, c)
		return
	}
	if former.Status == c.Status && !former.LastTransitionTime.IsZero() {
		c.LastTransitionTime = former.LastTransitionTime
	}
	c.ObservedGeneration = former.ObservedGeneration
	*former = c
}

// SetConditions updates the status of a definition for its spec and for the names that the other definitions of its
// group have: accepted names, and all conditions except Terminating. It reports whether it changed anything.
//
// On a real server four controllers do this in turn.
func SetConditions(crd *apiextensions.CustomResourceDefinition, others []resource.Names, now metav1.Time) bool {
	before := crd.Status.DeepCopy()
	acceptNames(crd, others, now)
	setNonStructural(crd, now)
	setApproved(crd, now)
	setEstablished(crd, now)
	return !equality.Semantic.DeepEqual(before, &crd.Status)
}

// acceptNames accepts each requested name that no other definition of the group has. A name that cannot be accepted does
// not change.
func acceptNames(crd *apiextensions.CustomResourceDefinition, others []resource.Names, now metav1.Time) {
	want, have := crd.Spec.Names, &crd.Status.AcceptedNames
	if equality.Semantic.DeepEqual(want, *have) {
		return
	}
	resources, kinds := sets.New[string](), sets.New[string]()
	for _, held := range append(others, acceptedNames(crd)) {
		resources.Insert(held.Plural, held.Singular)
		resources.Insert(held.ShortNames...)
		kinds.Insert(held.Kind, held.ListKind)
	}

	accepted := apiextensions.CustomResourceDefinitionCondition{
		Type: apiextensions.NamesAccepted, Status: apiextensions.ConditionTrue,
		Reason: "NoConflicts", Message: "no conflicts found",
	}
	claim := func(want string, have *string, used sets.Set[string], reason string) {
		if want != *have && used.Has(want) {
			accepted.Status, accepted.Reason, accepted.Message = apiextensions.ConditionFalse, reason, inUse(want).Error()
			return
		}
		*have = want
	}
	names := *have.DeepCopy()
	claim(want.Plural, &names.Plural, resources, "PluralConflict")
	claim(want.Singular, &names.Singular, resources, "SingularConflict")
	var taken []error
	for _, short := range want.ShortNames {
		if !slices.Contains(have.ShortNames, short) && resources.Has(short) {
			taken = append(taken, inUse(short))
		}
	}
	if err := utilerrors.NewAggregate(taken); err != nil {
		accepted.Status, accepted.Reason, accepted.Message = apiextensions.ConditionFalse, "ShortNamesConflict", err.Error()
	} else {
		names.ShortNames = want.ShortNames
	}
	claim(want.Kind, &names.Kind, kinds, "KindConflict")
	claim(want.ListKind, &names.ListKind, kinds, "ListKindConflict")
	names.Categories = want.Categories

	*have = names
	SetCondition(crd, now, accepted)
	if accepted.Status != apiextensions.ConditionTrue && apiextensions.FindCRDCondition(crd, apiextensions.Established) == nil {
		SetCondition(crd, now, apiextensions.CustomResourceDefinitionCondition{
			Type: apiextensions.Established, Status: apiextensions.ConditionFalse,
			Reason: "NotAccepted", Message: "not all names are accepted",
		})
	}
}

func inUse(name string) error { return fmt.Errorf("%q is already in use", name) }

// setNonStructural sets the condition about schemas that are not structural. Validation rejects them in new v1
// definitions.
func setNonStructural(crd *apiextensions.CustomResourceDefinition, now metav1.Time) {
	var condition apiextensions.CustomResourceDefinitionCondition
	if shared := sharedSpecOf(&crd.Spec); shared != nil {
		condition = shared.structure()
	} else {
		condition = structureOf(&crd.Spec)
	}
	switch {
	case condition.Type != "":
		SetCondition(crd, now, condition)
	case apiextensions.FindCRDCondition(crd, apiextensions.NonStructuralSchema) != nil:
		apiextensions.RemoveCRDCondition(crd, apiextensions.NonStructuralSchema)
	}
}

// structureOf returns the condition for schemas that are not structural, or the zero value if all are. Violations are
// sorted by path, so that the message is deterministic.
func structureOf(spec *apiextensions.CustomResourceDefinitionSpec) apiextensions.CustomResourceDefinitionCondition {
	var errs field.ErrorList
	if preserve := spec.PreserveUnknownFields; preserve != nil && *preserve {
		errs = append(errs, field.Invalid(field.NewPath("spec", "preserveUnknownFields"), true, "must be false"))
	}
	for i, v := range spec.Versions {
		validation, err := apiextensions.GetSchemaForVersion(&apiextensions.CustomResourceDefinition{Spec: *spec}, v.Name)
		if err != nil || validation == nil || validation.OpenAPIV3Schema == nil {
			continue
		}
		s, err := structuralschema.NewStructural(validation.OpenAPIV3Schema)
		if err != nil {
			return apiextensions.CustomResourceDefinitionCondition{
				Type: apiextensions.NonStructuralSchema, Status: apiextensions.ConditionUnknown,
				Reason:  "StructuralError",
				Message: fmt.Sprintf("failed to check validation schema for version %s: %v", v.Name, err),
			}
		}
		path := field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema")
		errs = append(errs, structuralschema.ValidateStructural(path, s)...)
	}
	if len(errs) == 0 {
		return apiextensions.CustomResourceDefinitionCondition{}
	}
	slices.SortFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })
	return apiextensions.CustomResourceDefinitionCondition{
		Type: apiextensions.NonStructuralSchema, Status: apiextensions.ConditionTrue,
		Reason: "Violations", Message: errs.ToAggregate().Error(),
	}
}

// setApproved sets the condition about the approval that *.k8s.io and *.kubernetes.io groups need.
func setApproved(crd *apiextensions.CustomResourceDefinition, now metav1.Time) {
	if !apihelpers.IsProtectedCommunityGroup(crd.Spec.Group) {
		return
	}
	state, message := apihelpers.GetAPIApprovalState(crd.Annotations)
	c := apiextensions.CustomResourceDefinitionCondition{
		Type: apiextensions.KubernetesAPIApprovalPolicyConformant, Status: apiextensions.ConditionFalse, Message: message,
	}
	switch state {
	case apihelpers.APIApprovalInvalid:
		c.Reason = "InvalidAnnotation"
	case apihelpers.APIApprovalMissing:
		c.Reason = "MissingAnnotation"
	case apihelpers.APIApprovalBypassed:
		c.Reason = "UnapprovedAnnotation"
	case apihelpers.APIApproved:
		c.Status, c.Reason = apiextensions.ConditionTrue, "ApprovedAnnotation"
	default:
		c.Status, c.Reason = apiextensions.ConditionUnknown, "UnknownAnnotation"
	}
	SetCondition(crd, now, c)
}

// setEstablished establishes a definition whose names are accepted. An established definition stays established.
func setEstablished(crd *apiextensions.CustomResourceDefinition, now metav1.Time) {
	if !apiextensions.IsCRDConditionTrue(crd, apiextensions.NamesAccepted) || apiextensions.IsCRDConditionTrue(crd, apiextensions.Established) {
		return
	}
	c := apiextensions.CustomResourceDefinitionCondition{
		Type: apiextensions.Established, Status: apiextensions.ConditionTrue,
		Reason: "InitialNamesAccepted", Message: "the initial names have been accepted",
	}
	if !hasValidBundle(crd.Spec.Conversion) {
		c.Status, c.Reason, c.Message = apiextensions.ConditionFalse, "InvalidCABundle", "The conversion webhook CABundle is invalid"
	}
	SetCondition(crd, now, c)
}

// hasValidBundle reports whether the caBundle of a conversion webhook is valid. An empty one is: the authorities of the
// system are then trusted.
func hasValidBundle(c *apiextensions.CustomResourceConversion) bool {
	return c == nil || c.WebhookClientConfig == nil || len(webhook.ValidateCABundle(field.NewPath(""), c.WebhookClientConfig.CABundle)) == 0
}
