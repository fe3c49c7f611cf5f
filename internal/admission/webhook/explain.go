package webhook

import (
	"encoding/json"
	"fmt"

	upstream "k8s.io/apiserver/pkg/admission"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/observe"
)

// step is what an explanation says of a call.
func (c call) step(of inspect.WebhookCall) inspect.AdmissionStep {
	s := inspect.AdmissionStep{
		Kind: inspect.Webhook, Phase: admission.Mutating, Name: of.Webhook, Configuration: of.Configuration, Again: c.again,
		Outcome: of.Outcome, Message: of.Message, Latency: of.Latency,
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
		s.Changes = observe.Changes(observe.Map(c.was), observe.Map(c.is))
	}
	return s
}

// notCalled is what an explanation says of a webhook that does not match a write.
func (w *webhook) notCalled(attr upstream.Attributes, phase, why string) inspect.AdmissionStep {
	if why == byRules {
		of := attr.GetResource()
		what := of.Resource
		if sub := attr.GetSubresource(); sub != "" {
			what += "/" + sub
		}
		why += fmt.Sprintf(" %s of %s in %s", attr.GetOperation(), what, of.GroupVersion())
	}
	return inspect.AdmissionStep{
		Kind: inspect.Webhook, Phase: phase, Name: w.Name, Configuration: w.configuration, Outcome: inspect.Skipped, Message: why,
	}
}
