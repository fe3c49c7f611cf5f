package policy

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/observe"
)

// This file adds the results of policies to the explanation of a write, if the client has requested one.

// explainSkipped reports that a policy was not evaluated.
func (r *request) explainSkipped(policy, binding, phase, why string) {
	if r.Observe.Explains() {
		r.Observe.Step(inspect.AdmissionStep{Kind: inspect.Policy, Phase: phase, Name: policy, Binding: binding, Outcome: inspect.Skipped, Message: why})
	}
}

// explainFailed reports that a policy could not be evaluated.
func (r *request) explainFailed(policy, binding, phase string, err error) {
	if r.Observe.Explains() {
		r.Observe.Step(inspect.AdmissionStep{Kind: inspect.Policy, Phase: phase, Name: policy, Binding: binding, Outcome: inspect.Failed, Message: err.Error()})
	}
}

func (r *request) explainMisconfigured(p *validatingPolicy, b *validatingBinding, err error) {
	name := ""
	if b != nil {
		name = b.Name
	}
	r.explainFailed(p.Name, name, admission.Validating, err)
}

// explainResult reports the result of a ValidatingAdmissionPolicy with one binding and parameter.
func (r *request) explainResult(p *validatingPolicy, b *validatingBinding, param runtime.Object, outcome result) {
	if !r.Observe.Explains() {
		return
	}
	s := inspect.AdmissionStep{
		Kind: inspect.Policy, Phase: admission.Validating, Name: p.Name, Binding: b.Name, Params: nameOf(param),
		Outcome: inspect.Allowed, Cost: outcome.cost,
	}
	if outcome.unmet != "" {
		s.Outcome, s.Message = inspect.Skipped, "its match condition is not true: "+outcome.unmet
	}
	for i, d := range outcome.decisions {
		if len(outcome.decisions) == len(p.Spec.Validations) { // otherwise the policy could not be evaluated
			s.Expressions = append(s.Expressions, inspect.Expression{
				Index: i, Expression: p.Spec.Validations[i].Expression, True: d.admits && d.message == "", Message: d.message,
			})
		}
		if !d.admits && s.Outcome == inspect.Allowed {
			s.Outcome, s.Message = inspect.Denied, d.message
		}
	}
	for _, a := range outcome.annotations {
		if a.err != "" && s.Outcome == inspect.Allowed {
			s.Outcome, s.Message = inspect.Denied, a.err
		}
		if a.err == "" {
			if s.Annotations == nil {
				s.Annotations = map[string]string{}
			}
			s.Annotations[a.key] = a.value
		}
	}
	for _, action := range b.Spec.ValidationActions {
		s.Actions = append(s.Actions, string(action))
	}
	r.Observe.Step(s)
}

// explainMutation reports the changes of an object by a MutatingAdmissionPolicy.
func (r *request) explainMutation(i invocation, before, after runtime.Object, failed []mutationError) {
	if !r.Observe.Explains() {
		return
	}
	s := inspect.AdmissionStep{
		Kind: inspect.Policy, Phase: admission.Mutating, Name: i.policy.Name, Binding: i.binding.Name, Params: nameOf(i.param),
		Again: r.GetReinvocationContext().IsReinvoke(), Outcome: inspect.Allowed,
		Changes: observe.Changes(observe.Map(before), observe.Map(after)),
	}
	switch {
	case len(failed) > 0:
		s.Outcome, s.Message = inspect.Failed, failed[0].err.Error()
	case len(s.Changes) > 0:
		s.Outcome = inspect.Changed
	}
	r.Observe.Step(s)
}

// nameOf returns the name of a parameter; empty: none.
func nameOf(param runtime.Object) string {
	if param == nil {
		return ""
	}
	metadata, err := meta.Accessor(param)
	if err != nil {
		return ""
	}
	if metadata.GetNamespace() == "" {
		return metadata.GetName()
	}
	return metadata.GetNamespace() + "/" + metadata.GetName()
}
