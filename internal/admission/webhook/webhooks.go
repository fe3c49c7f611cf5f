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

// Webhooks are the webhooks that a cluster calls. They implement admission.Plugin
// and are immutable.
type Webhooks struct {
	mutating   []*webhook
	validating []*webhook

	// compiled are the webhooks of each record, to be taken over.
	compiled map[store.Precondition][]*webhook
}

// webhook is one webhook of a configuration. One that validates has no
// reinvocation policy.
type webhook struct {
	admissionregistrationv1.MutatingWebhook
	id            string // unique in the cluster
	configuration string

	namespaces, objects       labels.Selector
	namespacesErr, objectsErr error
	conditions                matchconditions.Matcher // nil without any
}

// New makes the webhooks of the stored configurations. What it made of records
// that are the same it takes over from the former ones.
func New(was admission.Plugin, mutating, validating []store.Record) (admission.Plugin, error) {
	former, _ := was.(*Webhooks)
	is := &Webhooks{compiled: map[store.Precondition][]*webhook{}}
	for _, c := range []struct {
		records []store.Record
		phase   string
		decode  func(string) (string, []admissionregistrationv1.MutatingWebhook, error)
		into    *[]*webhook
	}{
		{mutating, "admit", decodeMutating, &is.mutating},
		{validating, "validating", decodeValidating, &is.validating},
	} {
		for _, record := range c.records {
			key := store.Precondition{Key: record.Key, Revision: record.Revision}
			hooks, known := former.of(key)
			if !known {
				name, declared, err := c.decode(record.Value)
				if err != nil {
					return nil, fmt.Errorf("reading %s: %w", record.Key, err)
				}
				hooks = compile(name, declared, c.phase)
			}
			is.compiled[key] = hooks
			*c.into = append(*c.into, hooks...)
		}
	}
	if len(is.mutating)+len(is.validating) == 0 {
		return nil, nil
	}
	return is, nil
}

func (w *Webhooks) of(record store.Precondition) ([]*webhook, bool) {
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

// decodeValidating reads them as webhooks that mutate: the fields of one have the
// names of the other's.
func decodeValidating(text string) (string, []admissionregistrationv1.MutatingWebhook, error) {
	return decodeMutating(text)
}

// compiler compiles match conditions. It takes a few milliseconds to make, once in
// a process.
var compiler = sync.OnceValue(func() plugincel.ConditionCompiler {
	return plugincel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
})

// compile makes the webhooks of one configuration.
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

// ignores tells whether the write goes on when the webhook cannot be called.
func (w *webhook) ignores() bool {
	return w.FailurePolicy != nil && *w.FailurePolicy == admissionregistrationv1.Ignore
}

// client is what the webhook is called through.
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
