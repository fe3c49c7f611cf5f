package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	upstream "k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// invocation is one evaluation of a policy, with one of its bindings and one parameter.
type invocation struct {
	policy  *mutatingPolicy
	binding *mutatingBinding
	as      matched
	param   runtime.Object
}

// mutationError reports that a policy could not be evaluated. Its binding is nil if the policy
// itself is the reason.
type mutationError struct {
	policy  *mutatingPolicy
	binding *mutatingBinding
	err     error
	reason  metav1.StatusReason
}

func (e *mutationError) Error() string {
	if e.binding == nil {
		return fmt.Sprintf("policy %q denied request: %v", e.policy.Name, e.err)
	}
	return fmt.Sprintf("policy '%s' with binding '%s' denied request: %v", e.policy.Name, e.binding.Name, e.err)
}

// Mutate implements admission.Plugin. It does nothing for a delete, which has no object to change.
func (p *plugin) Mutate(ctx context.Context, w *admission.Write) error {
	if len(p.mutating) == 0 || w.GetOperation() == upstream.Delete || exempt[w.GetResource().GroupResource()] {
		return nil
	}
	r := newRequest(w)
	var invocations []invocation
	var failed []mutationError
	for i := range p.mutating {
		more, errs := p.mutating[i].invocations(ctx, r)
		invocations, failed = append(invocations, more...), append(failed, errs...)
	}
	if len(invocations) > 0 {
		errs, err := r.invoke(ctx, invocations)
		if err != nil {
			return err
		}
		failed = append(failed, errs...)
	}
	failed = slices.DeleteFunc(failed, func(e mutationError) bool {
		return failurePolicy(e.policy.Spec.FailurePolicy) == admissionregistrationv1.Ignore
	})
	if len(failed) == 0 {
		return nil
	}
	return mutationStatus(w, failed)
}

// mutationStatus returns the error of a request for which policies could not be evaluated. It names the first of them.
func mutationStatus(a upstream.Attributes, failed []mutationError) error {
	err := upstream.NewForbidden(a, errors.New("admission request denied by policy"))
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return err
	}
	status.ErrStatus.Message = failed[0].Error()
	if failed[0].reason != "" {
		status.ErrStatus.Reason = failed[0].reason
	}
	for _, e := range failed {
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{Message: e.Error()})
	}
	return status
}

// invocations returns the invocations of the policy for the request.
func (p *mutatingPolicy) invocations(ctx context.Context, r *request) (found []invocation, failed []mutationError) {
	misconfigured := func(b *mutatingBinding, what string, err error) {
		failed = append(failed, mutationError{policy: p, binding: b, err: fmt.Errorf("failed to configure %s: %w", what, err)})
		name := ""
		if b != nil {
			name = b.Name
		}
		r.explainFailed(p.Name, name, admission.Mutating, err)
	}
	as, matches, err := p.constraints.matches(r)
	if err != nil {
		misconfigured(nil, "policy", err)
		return nil, failed
	}
	if !matches {
		r.explainSkipped(p.Name, "", admission.Mutating, "its matchConstraints do not match")
		return nil, nil
	}
	source, err := paramVersion(p.Spec.ParamKind, r)
	if err != nil {
		misconfigured(nil, "policy", err)
		return nil, failed
	}
	for i := range p.bindings {
		b := &p.bindings[i]
		if b.match != nil {
			_, matches, err := b.match.matches(r)
			if err != nil {
				misconfigured(b, "binding", err)
			}
			if err != nil || !matches {
				if err == nil {
					r.explainSkipped(p.Name, b.Name, admission.Mutating, "the matchResources of its binding do not match")
				}
				continue
			}
		}
		if _, err := r.as(as.kind); err != nil {
			misconfigured(nil, "policy", err)
			continue
		}
		params, err := paramsOf(ctx, p.Spec.ParamKind, source, b.Spec.ParamRef, r)
		if err != nil {
			misconfigured(b, "binding", err)
			continue
		}
		for _, param := range params {
			found = append(found, invocation{p, b, as, param})
		}
	}
	return found, failed
}

// invoke evaluates the invocations. Each gets the object from the previous one. It stops at an error that is not a
// mutationError.
func (r *request) invoke(ctx context.Context, invocations []invocation) (failed []mutationError, err error) {
	again := reinvocationOf(r.GetReinvocationContext())
	again.begin(r.GetObject())
	defer func() { again.end(r.GetObject()) }()

	var namespace *corev1.Namespace
	if slices.ContainsFunc(invocations, func(i invocation) bool { return i.policy.usesNamespace }) {
		if namespace, err = r.namespaceObject(); err != nil {
			return nil, err
		}
	}
	var last *upstream.VersionedAttributes
	for _, i := range invocations {
		if i.policy.err != nil {
			failed = append(failed, mutationError{i.policy, i.binding, i.policy.err, metav1.StatusReasonInvalid})
			continue
		}
		versioned, err := r.as(i.as.kind)
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		if i.policy.conditions != nil {
			outcome := i.policy.conditions.Match(ctx, versioned, i.param, r.authorizer())
			if outcome.Error != nil {
				failed = append(failed, mutationError{i.policy, i.binding, outcome.Error, metav1.StatusReasonInvalid})
				continue
			}
			if !outcome.Matches {
				r.explainSkipped(i.policy.Name, i.binding.Name, admission.Mutating, "its match condition is not true: "+outcome.FailedConditionName)
				continue
			}
		}
		if again.skips(i) {
			continue
		}
		before, failedBefore := versioned.VersionedObject.Object(), len(failed)
		for _, patcher := range i.policy.patchers {
			last = versioned
			if before == nil {
				continue
			}
			err := r.patch(ctx, patcher, i, versioned, namespace)
			var status *apierrors.StatusError
			if errors.As(err, &status) {
				return nil, status
			}
			if err != nil {
				failed = append(failed, mutationError{i.policy, i.binding, err, metav1.StatusReasonInvalid})
			}
		}
		r.explainMutation(i, before, versioned.VersionedObject.Object(), failed[failedBefore:])
		again.invoked(i, !equality.Semantic.DeepEqual(before, versioned.VersionedObject.Object()))
	}
	if last == nil || !last.Dirty {
		return failed, nil
	}
	again.changed()
	if err := r.Replace(last.VersionedObject.Object()); err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("failed to convert object: %w", err))
	}
	return failed, nil
}

// patch applies one mutation to the object and sets defaults.
func (r *request) patch(ctx context.Context, patcher patch.Patcher, i invocation, versioned *upstream.VersionedAttributes, namespace *corev1.Namespace) error {
	types, err := r.types(i.as)
	if err != nil {
		return err
	}
	patched, err := patcher.Patch(i.policy.compiler.CreateContext(ctx), patch.Request{
		MatchedResource:     i.as.resource,
		VersionedAttributes: versioned,
		ObjectInterfaces:    r.Write,
		OptionalVariables:   plugincel.OptionalVariableBindings{VersionedParams: i.param, Authorizer: r.authorizer()},
		Namespace:           namespace,
		TypeConverter:       types,
	}, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return err
	}
	if _, isMap := versioned.VersionedObject.Object().(*unstructured.Unstructured); !isMap {
		// Upstream converts to the version of the request, even if the policy uses another one. It can convert built-in
		// kinds only to and from their internal version, so such a policy denies every request.
		if patched, err = r.GetObjectConvertor().ConvertToVersion(patched, versioned.GetKind().GroupVersion()); err != nil {
			return err
		}
	}
	r.GetObjectDefaulter().Default(patched)
	versioned.UpdateObject(patched)
	return nil
}

// types returns the type converter of the object's kind for the policy. As a real server does, it uses the OpenAPI
// document of the kind's version: the kind of a subresource may also be that of a resource, such as Binding. A Scale
// cannot be merged, because the document of autoscaling/v1 has no path with a Scale.
func (r *request) types(as matched) (managedfields.TypeConverter, error) {
	registry := r.Cluster.Registry()
	var described []*resource.Resource
	if group := registry.Group(as.kind.Group); group != nil {
		for _, res := range group.Resources {
			if res.Names.Kind == as.kind.Kind {
				described = slices.Insert(described, 0, res)
			} else if as.kind.GroupVersion() != as.resource.GroupVersion() {
				described = append(described, res)
			}
		}
	}
	if res := registry.Resource(as.resource.Group, as.resource.Resource); res != nil && as.kind.GroupVersion() == as.resource.GroupVersion() {
		described = append(described, res)
	}
	for _, res := range described {
		if v := res.Version(as.kind.Version); v != nil && v.Types != nil {
			return v.Types()
		}
	}
	return nil, apierrors.NewServiceUnavailable(fmt.Sprintf(
		"Resource kind %s not found. There can be a delay between when CustomResourceDefinitions are created and when they are available.", as.kind))
}
