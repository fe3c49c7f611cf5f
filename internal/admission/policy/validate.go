package policy

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"github.com/fakecluster/fakecluster/internal/admission"
)

// denial is a decision that denies a request. Its binding is nil if the policy itself cannot be
// evaluated.
type denial struct {
	policy  *validatingPolicy
	binding *validatingBinding
	decision
}

func (d *denial) Error() string {
	if d.binding == nil {
		return fmt.Sprintf("ValidatingAdmissionPolicy '%s' denied request: %s", d.policy.Name, d.message)
	}
	return fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s", d.policy.Name, d.binding.Name, d.message)
}

// outcome collects the decisions about one request.
type outcome struct {
	denials  []denial
	failures []failure // for the audit annotation
}

// misconfigured denies the request because of a policy that cannot be evaluated, if its failurePolicy is Fail.
func (v *outcome) misconfigured(r *request, p *validatingPolicy, b *validatingBinding, err error) {
	r.explainMisconfigured(p, b, err)
	what := "policy"
	if b != nil {
		what = "binding"
	}
	switch policy := failurePolicy(p.Spec.FailurePolicy); policy {
	case admissionregistrationv1.Ignore:
	case admissionregistrationv1.Fail:
		v.denials = append(v.denials, denial{p, b, decision{message: fmt.Sprintf("failed to configure %s: %v", what, err)}})
	default:
		v.denials = append(v.denials, denial{p, b, decision{message: fmt.Sprintf("unrecognized failure policy: '%v'", policy)}})
	}
}

func failurePolicy(p *admissionregistrationv1.FailurePolicyType) admissionregistrationv1.FailurePolicyType {
	if p == nil {
		return admissionregistrationv1.Fail
	}
	return *p
}

// Validate implements admission.Plugin.
func (p *plugin) Validate(ctx context.Context, w *admission.Write) error {
	if len(p.validating) == 0 || exempt[w.GetResource().GroupResource()] {
		return nil
	}
	r, v := newRequest(w), &outcome{}
	for i := range p.validating {
		if err := p.validating[i].validate(ctx, r, v); err != nil {
			return err
		}
	}
	publishFailures(w, v.failures)
	if len(v.denials) == 0 {
		return nil
	}
	return v.denials[0].status(w)
}

// validate collects the decisions of the policy with its bindings.
func (p *validatingPolicy) validate(ctx context.Context, r *request, v *outcome) error {
	as, matches, err := p.constraints.matches(r)
	if err != nil {
		v.misconfigured(r, p, nil, err)
		return nil
	}
	if !matches {
		r.explainSkipped(p.Name, "", admission.Validating, "its matchConstraints do not match")
		return nil
	}
	source, err := paramVersion(p.Spec.ParamKind, r)
	if err != nil {
		v.misconfigured(r, p, nil, err)
		return nil
	}
	var collected annotations
	for i := range p.bindings {
		b := &p.bindings[i]
		if b.match != nil {
			_, matches, err := b.match.matches(r)
			if err != nil {
				v.misconfigured(r, p, b, err)
			}
			if err != nil || !matches {
				if err == nil {
					r.explainSkipped(p.Name, b.Name, admission.Validating, "the matchResources of its binding do not match")
				}
				continue
			}
		}
		params, err := paramsOf(ctx, p.Spec.ParamKind, source, b.Spec.ParamRef, r)
		if err != nil {
			v.misconfigured(r, p, b, err)
			continue
		}
		if len(params) == 0 {
			r.explainSkipped(p.Name, b.Name, admission.Validating, "there are no params")
			continue
		}
		versioned, err := r.as(as.kind)
		if err != nil {
			v.misconfigured(r, p, b, fmt.Errorf("failed to convert object version: %w", err))
			continue
		}
		var namespace *corev1.Namespace
		if p.usesNamespace {
			if namespace, err = r.namespaceObject(); err != nil {
				return err
			}
		}
		for _, param := range params {
			result := p.evaluate(ctx, as.resource, versioned, param, namespace, r.authorizer())
			v.enforce(ctx, p, b, result.decisions)
			r.explainResult(p, b, param, result)
			for _, a := range result.annotations {
				if a.err != "" {
					v.denials = append(v.denials, denial{p, b, decision{message: a.err}})
					continue
				}
				collected.add(a.key, a.value)
			}
		}
	}
	collected.publish(p.Name, r.Write)
	return nil
}

// enforce takes the actions of the binding for decisions that deny the request.
func (v *outcome) enforce(ctx context.Context, p *validatingPolicy, b *validatingBinding, decisions []decision) {
	for i, d := range decisions {
		if d.admits {
			continue
		}
		for _, action := range b.Spec.ValidationActions {
			switch action {
			case admissionregistrationv1.Deny:
				v.denials = append(v.denials, denial{p, b, d})
			case admissionregistrationv1.Audit:
				v.failures = append(v.failures, failure{
					Message: d.message, Policy: p.Name, Binding: b.Name, ExpressionIndex: i, ValidationActions: b.Spec.ValidationActions,
				})
			case admissionregistrationv1.Warn:
				warning.AddWarning(ctx, "", fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s", p.Name, b.Name, d.message))
			}
		}
	}
}

// status returns the error of a denied request.
func (d *denial) status(a upstream.Attributes) error {
	err := upstream.NewForbidden(a, d)
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return err
	}
	reason := d.reason
	if reason == "" {
		reason = metav1.StatusReasonInvalid
	}
	status.ErrStatus.Reason = reason
	status.ErrStatus.Code = codeOf(reason)
	status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{Message: d.Error()})
	return status
}

func codeOf(reason metav1.StatusReason) int32 {
	switch reason {
	case metav1.StatusReasonForbidden:
		return http.StatusForbidden
	case metav1.StatusReasonUnauthorized:
		return http.StatusUnauthorized
	case metav1.StatusReasonRequestEntityTooLarge:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusUnprocessableEntity
}
