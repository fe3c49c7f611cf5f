package webhook

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/object"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"

	"github.com/fakecluster/fakecluster/internal/admission"
)

// invocation is the kind and resource of a write, in the version of the webhook's rules.
type invocation struct {
	resource    schema.GroupVersionResource
	subresource string
	kind        schema.GroupVersionKind
}

// versions converts the objects of a write.
type versions interface {
	in(kind schema.GroupVersionKind) (*upstream.VersionedAttributes, error)
}

// match returns the invocation of the webhook for the write with the attributes attr; nil: the webhook does not match
// it.
func (w *webhook) match(ctx context.Context, write *admission.Write, attr upstream.Attributes, v versions, phase string) (*invocation, error) {
	to, why, err := w.matches(ctx, write, attr, v)
	if to == nil && err == nil && write.Observe.Explains() {
		write.Observe.Step(w.notCalled(attr, phase, why))
	}
	return to, err
}

// Why a webhook does not match a write.
const (
	byNamespace = "its namespaceSelector does not match"
	byObject    = "its objectSelector does not match"
	byRules     = "its rules do not match"
	byCondition = "its match condition is not true: "
)

// matches is match, and also returns why the webhook does not match.
func (w *webhook) matches(ctx context.Context, write *admission.Write, attr upstream.Attributes, v versions) (to *invocation, why string, err error) {
	selected, namespaceErr := w.matchNamespace(write, attr)
	if !selected && namespaceErr == nil {
		return nil, byNamespace, nil
	}
	objects := object.Matcher{}
	selected, objectErr := objects.MatchObjectSelector(w, attr)
	if !selected && objectErr == nil {
		return nil, byObject, nil
	}
	call := w.matchRules(write, attr)
	if call == nil {
		return nil, byRules, nil
	}
	// An invalid selector matters only to webhooks whose rules match.
	if namespaceErr != nil {
		return nil, "", namespaceErr
	}
	if objectErr != nil {
		return nil, "", objectErr
	}
	if w.conditions == nil {
		return call, "", nil
	}
	versioned, err := v.in(call.kind)
	if err != nil {
		return nil, "", apierrors.NewInternalError(err)
	}
	result := w.conditions.Match(ctx, versioned, nil, write.Cluster.Authorizer())
	if result.Error != nil {
		return nil, "", apierrors.NewForbidden(attr.GetResource().GroupResource(), attr.GetName(), result.Error)
	}
	if !result.Matches {
		return nil, byCondition + result.FailedConditionName, nil
	}
	return call, "", nil
}

// matchNamespace applies the namespaceSelector to the labels of the namespace of the object. For a Namespace it uses the
// labels of the object. Other cluster-scoped objects always match.
func (w *webhook) matchNamespace(write *admission.Write, attr upstream.Attributes) (bool, error) {
	isNamespace := attr.GetResource().Resource == "namespaces"
	if attr.GetNamespace() == "" && !isNamespace {
		return true, nil
	}
	if w.namespacesErr != nil {
		return false, apierrors.NewInternalError(w.namespacesErr)
	}
	if w.namespaces.Empty() {
		return true, nil
	}
	if isNamespace && attr.GetSubresource() == "" && attr.GetOperation() != upstream.Delete {
		metadata, err := meta.Accessor(attr.GetObject())
		if err != nil {
			return false, apierrors.NewInternalError(err)
		}
		return w.namespaces.Matches(labels.Set(metadata.GetLabels())), nil
	}
	namespace, err := write.Cluster.Namespace(attr.GetNamespace())
	if apierrors.IsNotFound(err) {
		return false, err
	}
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	return w.namespaces.Matches(labels.Set(namespace.Labels)), nil
}

// matchRules returns the invocation in a version of the rules: that of the request or, with the matchPolicy Equivalent,
// another one.
func (w *webhook) matchRules(write *admission.Write, attr upstream.Attributes) *invocation {
	for _, r := range w.Rules {
		if m := (rules.Matcher{Rule: r, Attr: attr}); m.Matches() {
			return &invocation{attr.GetResource(), attr.GetSubresource(), attr.GetKind()}
		}
	}
	if w.MatchPolicy == nil || *w.MatchPolicy != admissionregistrationv1.Equivalent {
		return nil
	}
	mapper := write.GetEquivalentResourceMapper()
	equivalents := mapper.EquivalentResourcesFor(attr.GetResource(), attr.GetSubresource())
	for _, r := range w.Rules {
		for _, equivalent := range equivalents {
			if equivalent == attr.GetResource() {
				continue
			}
			if m := (rules.Matcher{Rule: r, Attr: inVersion{attr, equivalent}}); m.Matches() {
				return &invocation{equivalent, attr.GetSubresource(), mapper.KindFor(equivalent, attr.GetSubresource())}
			}
		}
	}
	return nil
}

// inVersion is a write with the resource in another version.
type inVersion struct {
	upstream.Attributes
	resource schema.GroupVersionResource
}

func (a inVersion) GetResource() schema.GroupVersionResource { return a.resource }
