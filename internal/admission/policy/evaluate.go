package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	celtypes "github.com/google/cel-go/common/types"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// decision is the result of one validation.
type decision struct {
	admits  bool
	message string
	reason  metav1.StatusReason
}

// annotation is the result of one audit annotation: a value or an error.
type annotation struct{ key, value, err string }

// result is the result of a policy with one parameter.
type result struct {
	decisions   []decision
	annotations []annotation
	cost        int64  // of the validations
	unmet       string // the match condition that is false; empty: all are true
}

// evaluate evaluates the expressions. Validations and messages share one cost budget, audit
// annotations have another.
func (p *validatingPolicy) evaluate(ctx context.Context, as schema.GroupVersionResource, versioned *admission.VersionedAttributes, param runtime.Object,
	namespace *corev1.Namespace, authz authorizer.UnconditionalAuthorizer) result {
	// failed returns the one decision of a policy that cannot be evaluated.
	failed := func(err error) result {
		return result{decisions: []decision{{admits: p.ignores(), message: err.Error()}}}
	}
	if p.err != nil {
		return failed(p.err)
	}
	if p.conditions != nil {
		switch outcome := p.conditions.Match(ctx, versioned, param, authz); {
		case outcome.Error != nil:
			return failed(outcome.Error)
		case !outcome.Matches:
			return result{unmet: outcome.FailedConditionName}
		}
	}
	request := plugincel.CreateAdmissionRequest(versioned.Attributes, metav1.GroupVersionResource(as), metav1.GroupVersionKind(versioned.VersionedKind))
	namespace = plugincel.CreateNamespaceObject(namespace)
	bindings := plugincel.OptionalVariableBindings{VersionedParams: param, Authorizer: authz}
	values, left, err := p.validations.ForInput(ctx, versioned, request, bindings, namespace, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return failed(err)
	}
	bindings.Authorizer = nil
	var messages []plugincel.EvaluationResult
	var messageErr error
	if p.hasMessages {
		messages, _, messageErr = p.messages.ForInput(ctx, versioned, request, bindings, namespace, left)
	}
	out := result{decisions: make([]decision, len(values)), cost: celconfig.RuntimeCELCostBudget - left}
	for i, value := range values {
		var message plugincel.EvaluationResult
		if i < len(messages) {
			message = messages[i]
		}
		out.decisions[i] = p.decide(value, message, messageErr)
	}
	if !p.hasAnnotations {
		return out
	}
	texts, _, err := p.annotations.ForInput(ctx, versioned, request, bindings, namespace, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return failed(err)
	}
	for _, text := range texts {
		if a, ok := p.annotate(text); ok {
			out.annotations = append(out.annotations, a)
		}
	}
	return out
}

// ignores reports whether a write is admitted if the policy cannot be evaluated.
func (p *validatingPolicy) ignores() bool {
	return failurePolicy(p.Spec.FailurePolicy) == admissionregistrationv1.Ignore
}

// decide returns the decision for the value of a validation, the value of its messageExpression, and the error that
// ended the evaluation of messages.
func (p *validatingPolicy) decide(value, message plugincel.EvaluationResult, messageErr error) decision {
	switch {
	case value.Error != nil:
		return decision{admits: p.ignores(), message: value.Error.Error()}
	case errors.Is(messageErr, apiservercel.ErrInternal) || errors.Is(messageErr, apiservercel.ErrOutOfBudget):
		return decision{admits: p.ignores(), message: fmt.Sprintf("failed messageExpression: %s", messageErr)}
	case value.EvalResult == celtypes.True:
		return decision{admits: true}
	}
	validation := value.ExpressionAccessor.(validationExpression)
	d := decision{reason: metav1.StatusReasonInvalid, message: messageOf(message)}
	if validation.Reason != nil {
		d.reason = *validation.Reason
	}
	if d.message == "" {
		d.message = strings.TrimSpace(validation.Message)
	}
	if d.message == "" {
		d.message = "failed expression: " + strings.TrimSpace(validation.Expression)
	}
	return d
}

// messageOf returns the value of a messageExpression, or the empty string if it is not a string, has
// several lines or is too long.
func messageOf(message plugincel.EvaluationResult) string {
	if message.Error != nil || message.EvalResult == nil {
		return ""
	}
	text, _ := message.EvalResult.Value().(string)
	text = strings.TrimSpace(text)
	if len(text) > celconfig.MaxEvaluatedMessageExpressionSizeBytes || strings.Contains(text, "\n") {
		return ""
	}
	return text
}

// annotate returns the audit annotation for the value of its expression. It returns false if there is none.
func (p *validatingPolicy) annotate(value plugincel.EvaluationResult) (annotation, bool) {
	checked := value.ExpressionAccessor.(annotationExpression)
	if value.Error != nil {
		return annotation{key: checked.Key, err: value.Error.Error()}, !p.ignores()
	}
	// The expression is of type string or null.
	text, _ := value.EvalResult.Value().(string)
	text = strings.TrimSpace(text)
	return annotation{key: checked.Key, value: text}, text != ""
}
