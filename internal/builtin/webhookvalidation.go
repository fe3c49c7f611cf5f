package builtin

import (
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/fakecluster/fakecluster/internal/builtin/admissionregistration"
)

// webhookLeniency says which errors an update may leave in a configuration, because the old one
// has them too.
type webhookLeniency struct {
	matchConditions bool // they are not validated, because they have not changed
	sideEffects     bool // values that only older API versions allow
	reviewVersions  bool // a list without any version that the server knows
	duplicateNames  bool
	labelValues     bool // malformed label values in selectors

	knownExpressions admissionregistration.Expressions // these are compiled like stored expressions
}

// validateWebhookConfiguration follows k8s.io/kubernetes' pkg/apis/admissionregistration. The
// old object is nil for a create.
func validateWebhookConfiguration(obj, old runtime.Object) field.ErrorList {
	var errs field.ErrorList
	allow := webhookLeniency{}
	if old == nil {
		errs = append(errs, admissionregistration.ValidateName(accessor(obj).GetName())...)
	} else {
		errs = append(errs, apivalidation.ValidateObjectMetaAccessor(accessor(obj), false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))...)
		allow = leniencyOf(webhooksOf(obj), webhooksOf(old))
	}
	names := sets.New[string]()
	for i, w := range webhooksOf(obj) {
		path := field.NewPath("webhooks").Index(i)
		errs = append(errs, validateWebhook(&w, allow, path)...)
		errs = append(errs, validateReviewVersions(w.AdmissionReviewVersions, allow.reviewVersions, path.Child("admissionReviewVersions"))...)
		if allow.duplicateNames || w.Name == "" {
			continue
		}
		if names.Has(w.Name) {
			errs = append(errs, field.Duplicate(path.Child("name"), w.Name))
		}
		names.Insert(w.Name)
	}
	return errs
}

// leniencyOf returns the errors that the old webhooks allow in the new ones.
func leniencyOf(is, was []admissionregistrationv1.MutatingWebhook) webhookLeniency {
	allow := webhookLeniency{matchConditions: len(is) == len(was), knownExpressions: admissionregistration.Expressions{}}
	names := sets.New[string]()
	for i, w := range was {
		if allow.matchConditions && !reflect.DeepEqual(is[i].MatchConditions, w.MatchConditions) {
			allow.matchConditions = false
		}
		if w.SideEffects == nil || !slices.Contains(noSideEffects, *w.SideEffects) {
			allow.sideEffects = true
		}
		if len(w.AdmissionReviewVersions) > 0 && !slices.ContainsFunc(w.AdmissionReviewVersions, isReviewVersion) {
			allow.reviewVersions = true
		}
		if names.Has(w.Name) {
			allow.duplicateNames = true
		}
		names.Insert(w.Name)
		for _, selector := range []*metav1.LabelSelector{w.NamespaceSelector, w.ObjectSelector} {
			if selector != nil && len(metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, nil)) > 0 {
				allow.labelValues = true
			}
		}
		for _, c := range w.MatchConditions {
			allow.knownExpressions.Insert(c.Expression)
		}
	}
	return allow
}

var (
	failurePolicies      = []admissionregistrationv1.FailurePolicyType{admissionregistrationv1.Fail, admissionregistrationv1.Ignore}
	matchPolicies        = []admissionregistrationv1.MatchPolicyType{admissionregistrationv1.Equivalent, admissionregistrationv1.Exact}
	noSideEffects        = []admissionregistrationv1.SideEffectClass{admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun}
	someSideEffects      = []admissionregistrationv1.SideEffectClass{admissionregistrationv1.SideEffectClassSome, admissionregistrationv1.SideEffectClassUnknown}
	reinvocationPolicies = []admissionregistrationv1.ReinvocationPolicyType{admissionregistrationv1.IfNeededReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy}

	reviewVersions = []string{admissionv1.SchemeGroupVersion.Version, admissionv1beta1.SchemeGroupVersion.Version}
)

func isReviewVersion(version string) bool { return slices.Contains(reviewVersions, version) }

func validateWebhook(w *admissionregistrationv1.MutatingWebhook, allow webhookLeniency, path *field.Path) field.ErrorList {
	errs := validation.IsFullyQualifiedName(path.Child("name"), w.Name)
	for i, r := range w.Rules {
		errs = append(errs, admissionregistration.ValidateRuleWithOperations(&r, path.Child("rules").Index(i))...)
	}
	errs = append(errs, validateOneOf(path.Child("failurePolicy"), w.FailurePolicy, failurePolicies)...)
	errs = append(errs, validateOneOf(path.Child("matchPolicy"), w.MatchPolicy, matchPolicies)...)
	sideEffects := noSideEffects
	if allow.sideEffects {
		sideEffects = slices.Concat(noSideEffects, someSideEffects)
	}
	if w.SideEffects == nil {
		errs = append(errs, field.Required(path.Child("sideEffects"), "must specify one of "+join(sideEffects)))
	}
	errs = append(errs, validateOneOf(path.Child("sideEffects"), w.SideEffects, sideEffects)...)
	if w.TimeoutSeconds != nil && (*w.TimeoutSeconds > 30 || *w.TimeoutSeconds < 1) {
		errs = append(errs, field.Invalid(path.Child("timeoutSeconds"), *w.TimeoutSeconds, "the timeout value must be between 1 and 30 seconds"))
	}
	selectors := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: allow.labelValues}
	if w.NamespaceSelector != nil {
		errs = append(errs, metav1validation.ValidateLabelSelector(w.NamespaceSelector, selectors, path.Child("namespaceSelector"))...)
	}
	if w.ObjectSelector != nil {
		errs = append(errs, metav1validation.ValidateLabelSelector(w.ObjectSelector, selectors, path.Child("objectSelector"))...)
	}
	errs = append(errs, validateOneOf(path.Child("reinvocationPolicy"), w.ReinvocationPolicy, reinvocationPolicies)...)
	errs = append(errs, validateClientConfig(w.ClientConfig, path.Child("clientConfig"))...)
	if !allow.matchConditions {
		errs = append(errs, admissionregistration.ValidateMatchConditions(w.MatchConditions, false, allow.knownExpressions, path.Child("matchConditions"))...)
	}
	return errs
}

func validateOneOf[T ~string](path *field.Path, value *T, values []T) field.ErrorList {
	if value == nil || slices.Contains(values, *value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, *value, values)}
}

func join[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}

func validateClientConfig(c admissionregistrationv1.WebhookClientConfig, path *field.Path) field.ErrorList {
	switch {
	case (c.URL == nil) == (c.Service == nil):
		return field.ErrorList{field.Required(path, "exactly one of url or service is required")}
	case c.URL != nil:
		return webhook.ValidateWebhookURL(path.Child("url"), *c.URL, true)
	}
	var port int32
	if c.Service.Port != nil {
		port = *c.Service.Port
	}
	// The real server mixes the two up here: its error about the name validates the
	// namespace.
	return webhook.ValidateWebhookService(path.Child("service"), c.Service.Name, c.Service.Namespace, c.Service.Path, port)
}

func validateReviewVersions(versions []string, allowUnknown bool, path *field.Path) field.ErrorList {
	if len(versions) == 0 {
		return field.ErrorList{field.Required(path, "must specify one of "+join(reviewVersions))}
	}
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, v := range versions {
		if seen.Has(v) {
			errs = append(errs, field.Invalid(path.Index(i), v, "duplicate version"))
			continue
		}
		seen.Insert(v)
		for _, msg := range validation.IsDNS1035Label(v) {
			errs = append(errs, field.Invalid(path.Index(i), v, msg))
		}
	}
	if !allowUnknown && !slices.ContainsFunc(versions, isReviewVersion) {
		errs = append(errs, field.Invalid(path, versions, "must include at least one of "+join(reviewVersions)))
	}
	return errs
}

// warnOfStaticName warns of a configuration that is stored under such a name already.
func warnOfStaticName(obj, old runtime.Object) []string {
	if old == nil {
		return nil
	}
	var warnings []string
	for _, err := range admissionregistration.ValidateName(accessor(obj).GetName()) {
		warnings = append(warnings, err.Field+": "+err.Detail)
	}
	return warnings
}
