package webhook

import (
	"encoding/json"
	"fmt"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/store"
)

// Webhooks is the plugin that calls the webhooks of a cluster. It is immutable.
type Webhooks struct {
	mutating   []*webhook
	validating []*webhook

	// compiled has the webhooks of each record, for the next plugin.
	compiled map[store.Precondition][]*webhook
}

// webhook is a webhook of a configuration. A validating one has no reinvocationPolicy.
type webhook struct {
	admissionregistrationv1.MutatingWebhook
	id            string // unique in the cluster
	configuration string

	namespaces, objects       labels.Selector
	namespacesErr, objectsErr error
	conditions                matchconditions.Matcher // nil if there are none
}

// New returns the plugin for the stored configurations. It reuses the webhooks of unchanged records of the replaced
// plugin.
func New(replaced admission.Plugin, mutating, validating []store.Record) (admission.Plugin, error) {
	former, _ := replaced.(*Webhooks)
	current := &Webhooks{compiled: map[store.Precondition][]*webhook{}}
	for _, c := range []struct {
		records []store.Record
		phase   string
		decode  func(string) (string, []admissionregistrationv1.MutatingWebhook, error)
		into    *[]*webhook
	}{
		{mutating, "admit", decodeMutating, &current.mutating},
		{validating, "validating", decodeValidating, &current.validating},
	} {
		for _, record := range c.records {
			key := store.Precondition{Key: record.Key, Revision: record.Revision}
			hooks, ok := former.webhooksOf(key)
			if !ok {
				name, declared, err := c.decode(record.Value)
				if err != nil {
					return nil, fmt.Errorf("reading %s: %w", record.Key, err)
				}
				hooks = compile(name, declared, c.phase)
			}
			current.compiled[key] = hooks
			*c.into = append(*c.into, hooks...)
		}
	}
	if len(current.mutating)+len(current.validating) == 0 {
		return nil, nil
	}
	return current, nil
}

func (w *Webhooks) webhooksOf(record store.Precondition) ([]*webhook, bool) {
	if w == nil {
		return nil, false
	}
	hooks, ok := w.compiled[record]
	return hooks, ok
}

func decodeMutating(text string) (string, []admissionregistrationv1.MutatingWebhook, error) {
	var c admissionregistrationv1.MutatingWebhookConfiguration
	err := json.Unmarshal([]byte(text), &c)
	return c.Name, c.Webhooks, err
}

// decodeValidating decodes validating webhooks as mutating ones, which have one more field.
func decodeValidating(text string) (string, []admissionregistrationv1.MutatingWebhook, error) {
	return decodeMutating(text)
}

// compiler compiles match conditions. It is created once in a process, because that takes milliseconds.
var compiler = sync.OnceValue(func() plugincel.ConditionCompiler {
	return plugincel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
})

// compile returns the webhooks of a configuration.
func compile(configuration string, declared []admissionregistrationv1.MutatingWebhook, phase string) []*webhook {
	hooks := make([]*webhook, len(declared))
	named := map[string]int{}
	for i, d := range declared {
		w := &webhook{
			MutatingWebhook: d, configuration: configuration,
			id: fmt.Sprintf("%s/%s/%d", configuration, d.Name, named[d.Name]),
		}
		named[d.Name]++
		w.namespaces, w.namespacesErr = metav1.LabelSelectorAsSelector(d.NamespaceSelector)
		w.objects, w.objectsErr = metav1.LabelSelectorAsSelector(d.ObjectSelector)
		if len(d.MatchConditions) > 0 {
			w.conditions = matchconditions.NewMatcher(compileConditions(d.MatchConditions), d.FailurePolicy, "webhook", phase, d.Name)
		}
		hooks[i] = w
	}
	return hooks
}

func compileConditions(declared []admissionregistrationv1.MatchCondition) plugincel.ConditionEvaluator {
	conditions := make([]plugincel.ExpressionAccessor, len(declared))
	for i, c := range declared {
		conditions[i] = &matchconditions.MatchCondition{Name: c.Name, Expression: c.Expression}
	}
	return compiler().CompileCondition(conditions, plugincel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.StoredExpressions)
}

// ignores reports whether the write continues when the call of the webhook fails.
func (w *webhook) ignores() bool {
	return w.FailurePolicy != nil && *w.FailurePolicy == admissionregistrationv1.Ignore
}

// client returns the configuration of the client that calls the webhook.
func (w *webhook) client() webhookutil.ClientConfig {
	c := webhookutil.ClientConfig{Name: w.Name, CABundle: w.ClientConfig.CABundle}
	if w.ClientConfig.URL != nil {
		c.URL = *w.ClientConfig.URL
	}
	s := w.ClientConfig.Service
	if s == nil {
		return c
	}
	c.Service = &webhookutil.ClientConfigService{Name: s.Name, Namespace: s.Namespace, Port: 443}
	if s.Port != nil {
		c.Service.Port = *s.Port
	}
	if s.Path != nil {
		c.Service.Path = *s.Path
	}
	return c
}

// GetParsedObjectSelector implements object.ObjectSelectorProvider.
func (w *webhook) GetParsedObjectSelector() (labels.Selector, error) { return w.objects, w.objectsErr }
