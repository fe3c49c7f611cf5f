package builtin

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

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
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/util/webhook"
)

// webhookLeniency is what an update need not mend, because the configuration was
// so before.
type webhookLeniency struct {
	matchConditions bool // not looked at: they are as they were
	sideEffects     bool // those that API versions of old allowed
	reviewVersions  bool // none that the server knows
	duplicateNames  bool
	labelValues     bool // malformed ones, in selectors

	knownExpressions sets.Set[string] // compiled as what is stored is
}

// validateWebhookConfiguration is the validation of k8s.io/kubernetes'
// pkg/apis/admissionregistration. The old object is nil for a create.
func validateWebhookConfiguration(obj, old runtime.Object) field.ErrorList {
	var errs field.ErrorList
	allow := webhookLeniency{}
	if old == nil {
		errs = append(errs, validateNoStaticName(accessor(obj).GetName(), field.NewPath("metadata", "name"))...)
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

// leniencyOf is what the old webhooks allow the new ones.
func leniencyOf(is, was []admissionregistrationv1.MutatingWebhook) webhookLeniency {
	allow := webhookLeniency{matchConditions: len(is) == len(was), knownExpressions: sets.New[string]()}
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
	operations           = []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll, admissionregistrationv1.Connect,
		admissionregistrationv1.Create, admissionregistrationv1.Delete, admissionregistrationv1.Update}
	scopes = []admissionregistrationv1.ScopeType{admissionregistrationv1.AllScopes, admissionregistrationv1.ClusterScope, admissionregistrationv1.NamespacedScope}

	reviewVersions = []string{admissionv1.SchemeGroupVersion.Version, admissionv1beta1.SchemeGroupVersion.Version}
)

func isReviewVersion(version string) bool { return slices.Contains(reviewVersions, version) }

func validateWebhook(w *admissionregistrationv1.MutatingWebhook, allow webhookLeniency, path *field.Path) field.ErrorList {
	errs := validation.IsFullyQualifiedName(path.Child("name"), w.Name)
	for i, r := range w.Rules {
		errs = append(errs, validateRuleWithOperations(&r, path.Child("rules").Index(i))...)
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
		errs = append(errs, validateMatchConditions(w.MatchConditions, allow.knownExpressions, path.Child("matchConditions"))...)
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
	// The real server takes the one for the other here: what it says of a name is
	// about the namespace.
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

// validateRuleWithOperations is also that of the rules of policies.
func validateRuleWithOperations(r *admissionregistrationv1.RuleWithOperations, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(r.Operations) == 0 {
		errs = append(errs, field.Required(path.Child("operations"), ""))
	}
	if len(r.Operations) > 1 && slices.Contains(r.Operations, admissionregistrationv1.OperationAll) {
		errs = append(errs, field.Invalid(path.Child("operations"), r.Operations, "if '*' is present, must not specify other operations"))
	}
	for i, o := range r.Operations {
		errs = append(errs, validateOneOf(path.Child("operations").Index(i), &o, operations)...)
	}
	if len(r.APIGroups) == 0 {
		errs = append(errs, field.Required(path.Child("apiGroups"), ""))
	}
	if len(r.APIGroups) > 1 && slices.Contains(r.APIGroups, "*") {
		errs = append(errs, field.Invalid(path.Child("apiGroups"), r.APIGroups, "if '*' is present, must not specify other API groups"))
	}
	if len(r.APIVersions) == 0 {
		errs = append(errs, field.Required(path.Child("apiVersions"), ""))
	}
	if len(r.APIVersions) > 1 && slices.Contains(r.APIVersions, "*") {
		errs = append(errs, field.Invalid(path.Child("apiVersions"), r.APIVersions, "if '*' is present, must not specify other API versions"))
	}
	for i, v := range r.APIVersions {
		if v == "" {
			errs = append(errs, field.Required(path.Child("apiVersions").Index(i), ""))
		}
	}
	errs = append(errs, validateRuleResources(r.Resources, path.Child("resources"))...)
	return append(errs, validateOneOf(path.Child("scope"), r.Scope, scopes)...)
}

// validateRuleResources refuses resources that wildcards before them include.
func validateRuleResources(resources []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(resources) == 0 {
		errs = append(errs, field.Required(path, ""))
	}
	anySubresourceOf, subresourceOfAny := sets.New[string](), sets.New[string]()
	wholeResource := false // as upstream has it: the last one without a subresource decides
	for i, r := range resources {
		if r == "" {
			errs = append(errs, field.Required(path.Index(i), ""))
			continue
		}
		res, sub, found := strings.Cut(r, "/")
		if !found {
			wholeResource = r != "*"
			continue
		}
		if anySubresourceOf.Has(res) {
			errs = append(errs, field.Invalid(path.Index(i), r, fmt.Sprintf("if '%s/*' is present, must not specify %s", res, r)))
		}
		if subresourceOfAny.Has(sub) {
			errs = append(errs, field.Invalid(path.Index(i), r, fmt.Sprintf("if '*/%s' is present, must not specify %s", sub, r)))
		}
		if sub == "*" {
			anySubresourceOf.Insert(res)
		}
		if res == "*" {
			subresourceOfAny.Insert(sub)
		}
	}
	if len(resources) > 1 && slices.Contains(resources, "*/*") {
		errs = append(errs, field.Invalid(path, resources, "if '*/*' is present, must not specify other resources"))
	}
	if slices.Contains(resources, "*") && wholeResource {
		errs = append(errs, field.Invalid(path, resources, "if '*' is present, must not specify other resources without subresources"))
	}
	return errs
}

// maxMatchConditions is how many conditions a webhook may have.
const maxMatchConditions = 64

func validateMatchConditions(conditions []admissionregistrationv1.MatchCondition, known sets.Set[string], path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(conditions) > maxMatchConditions {
		errs = append(errs, field.TooMany(path, len(conditions), maxMatchConditions))
	}
	names := sets.New[string]()
	for i, c := range conditions {
		path := path.Index(i)
		if expression := strings.TrimSpace(c.Expression); expression == "" {
			errs = append(errs, field.Required(path.Child("expression"), ""))
		} else {
			errs = append(errs, compileMatchCondition(expression, known.Has(expression), path.Child("expression"))...)
		}
		if c.Name == "" {
			errs = append(errs, field.Required(path.Child("name"), ""))
			continue
		}
		for _, msg := range validation.IsQualifiedName(c.Name) {
			errs = append(errs, field.Invalid(path.Child("name"), c.Name, msg))
		}
		if names.Has(c.Name) {
			errs = append(errs, field.Duplicate(path.Child("name"), c.Name))
		}
		names.Insert(c.Name)
	}
	return errs
}

// expressions compiles what is to be validated. It takes a few milliseconds to
// make, once in a process.
var expressions = sync.OnceValue(func() plugincel.Compiler {
	return plugincel.NewCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
})

// compileMatchCondition says what is wrong with an expression. One that is stored
// already may use what is too new to be stored.
func compileMatchCondition(expression string, stored bool, path *field.Path) field.ErrorList {
	env := environment.NewExpressions
	if stored {
		env = environment.StoredExpressions
	}
	condition := &matchconditions.MatchCondition{Expression: expression}
	result := expressions().CompileCELExpression(condition, plugincel.OptionalVariableDeclarations{HasAuthorizer: true}, env)
	if result.Error == nil {
		return nil
	}
	switch result.Error.Type {
	case apiservercel.ErrorTypeRequired:
		return field.ErrorList{field.Required(path, result.Error.Detail)}
	case apiservercel.ErrorTypeInvalid:
		return field.ErrorList{field.Invalid(path, expression, result.Error.Detail)}
	}
	return field.ErrorList{field.InternalError(path, result.Error)}
}

// staticSuffix ends the names of configurations that a real server reads from
// files.
const staticSuffix = ".static.k8s.io"

// validateNoStaticName keeps such names free.
func validateNoStaticName(name string, path *field.Path) field.ErrorList {
	if !strings.HasSuffix(name, staticSuffix) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, staticNameReserved)}
}

var staticNameReserved = fmt.Sprintf("names ending with %q are reserved for static manifest-based configurations and cannot be managed via the API", staticSuffix)

// warnOfStaticName warns of what is stored under such a name nevertheless.
func warnOfStaticName(obj, old runtime.Object) []string {
	if old == nil || !strings.HasSuffix(accessor(obj).GetName(), staticSuffix) {
		return nil
	}
	return []string{"metadata.name: " + staticNameReserved}
}
