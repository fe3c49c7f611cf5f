package webhook

import (
	"encoding/json"
	"fmt"

	upstream "k8s.io/apiserver/pkg/admission"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/observe"
)

// step returns the step of an explanation for a call.
func (c call) step(called inspect.WebhookCall) inspect.AdmissionStep {
	s := inspect.AdmissionStep{
		Kind: inspect.Webhook, Phase: admission.Mutating, Name: called.Webhook, Configuration: called.Configuration, Again: c.again,
		Outcome: called.Outcome, Message: called.Message, Latency: called.Latency,
	}
	if c.validates {
		s.Phase = admission.Validating
	}
	if c.response != nil {
		s.Warnings, s.Annotations = c.response.Warnings, c.response.AuditAnnotations
		if json.Valid(c.response.Patch) {
			s.Patch = c.response.Patch
		}
	}
	if c.changed {
		s.Changes = observe.Changes(observe.Map(c.before), observe.Map(c.after))
	}
	return s
}

// notCalled returns the step of an explanation for a webhook that does not match a write.
func (w *webhook) notCalled(attr upstream.Attributes, phase, why string) inspect.AdmissionStep {
	if why == byRules {
		resource := attr.GetResource()
		what := resource.Resource
		if sub := attr.GetSubresource(); sub != "" {
			what += "/" + sub
		}
		why += fmt.Sprintf(" %s of %s in %s", attr.GetOperation(), what, resource.GroupVersion())
	}
	return inspect.AdmissionStep{
		Kind: inspect.Webhook, Phase: phase, Name: w.Name, Configuration: w.configuration, Outcome: inspect.Skipped, Message: why,
	}
}
