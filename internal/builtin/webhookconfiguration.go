package builtin

import (
	"reflect"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// webhookConfigurations are the kinds of webhook configurations. A configuration takes effect
// with the write that stores it; see package admission/webhook.
var webhookConfigurations = []kind{
	webhookConfiguration("MutatingWebhookConfiguration"),
	webhookConfiguration("ValidatingWebhookConfiguration"),
}

func webhookConfiguration(name string) kind {
	singular := strings.ToLower(name)
	return kind{
		GroupVersionKind: admissionregistrationv1.SchemeGroupVersion.WithKind(name),
		names:            []string{singular + "s", singular},
		categories:       []string{"api-extensions"},
		clusterScoped:    true,
		conditionalOnly:  true,
		rules:            rules{prepare: countWebhookChanges, validate: validateWebhookConfiguration, warn: warnOfStaticName},
		columns: []column{nameColumn,
			{
				metav1.TableColumnDefinition{Name: "Webhooks", Type: "integer", Description: "Webhooks indicates the number of webhooks registered in this configuration"},
				func(obj runtime.Object) any { return int64(len(webhooksOf(obj))) },
			},
			ageColumn,
		},
	}
}

// webhooksOf returns the webhooks of a configuration of either kind. Validating ones have no
// reinvocationPolicy.
func webhooksOf(obj runtime.Object) []admissionregistrationv1.MutatingWebhook {
	switch c := obj.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return c.Webhooks
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		all := make([]admissionregistrationv1.MutatingWebhook, len(c.Webhooks))
		for i, w := range c.Webhooks {
			all[i] = admissionregistrationv1.MutatingWebhook{
				Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
				NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects,
				TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
			}
		}
		return all
	}
	return nil
}

// countWebhookChanges increments the generation when the webhooks change.
func countWebhookChanges(obj, old runtime.Object) {
	switch {
	case old == nil:
		accessor(obj).SetGeneration(1)
	case !reflect.DeepEqual(webhooksOf(obj), webhooksOf(old)):
		accessor(obj).SetGeneration(accessor(old).GetGeneration() + 1)
	}
}

// addWebhookDefaults registers the defaults of both kinds.
func addWebhookDefaults(s *runtime.Scheme) {
	s.AddTypeDefaultingFunc(&admissionregistrationv1.MutatingWebhookConfiguration{}, func(obj any) {
		c := obj.(*admissionregistrationv1.MutatingWebhookConfiguration)
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			setDefault(&w.FailurePolicy, admissionregistrationv1.Fail)
			setDefault(&w.MatchPolicy, admissionregistrationv1.Equivalent)
			setDefault(&w.NamespaceSelector, metav1.LabelSelector{})
			setDefault(&w.ObjectSelector, metav1.LabelSelector{})
			setDefault(&w.TimeoutSeconds, defaultTimeoutSeconds)
			setDefault(&w.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
			setRuleDefaults(w.Rules)
			setServiceDefaults(w.ClientConfig.Service)
		}
	})
	s.AddTypeDefaultingFunc(&admissionregistrationv1.ValidatingWebhookConfiguration{}, func(obj any) {
		c := obj.(*admissionregistrationv1.ValidatingWebhookConfiguration)
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			setDefault(&w.FailurePolicy, admissionregistrationv1.Fail)
			setDefault(&w.MatchPolicy, admissionregistrationv1.Equivalent)
			setDefault(&w.NamespaceSelector, metav1.LabelSelector{})
			setDefault(&w.ObjectSelector, metav1.LabelSelector{})
			setDefault(&w.TimeoutSeconds, defaultTimeoutSeconds)
			setRuleDefaults(w.Rules)
			setServiceDefaults(w.ClientConfig.Service)
		}
	})
}

const (
	defaultTimeoutSeconds int32 = 10
	defaultServicePort    int32 = 443
)

// setDefault sets the default of a field that is nil.
func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func setRuleDefaults(rules []admissionregistrationv1.RuleWithOperations) {
	for i := range rules {
		setDefault(&rules[i].Scope, admissionregistrationv1.AllScopes)
	}
}

func setServiceDefaults(service *admissionregistrationv1.ServiceReference) {
	if service != nil {
		setDefault(&service.Port, defaultServicePort)
	}
}
