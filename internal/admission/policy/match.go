package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// match determines which requests a policy or a binding matches. It follows upstream's policy/matching, but does cheap
// checks first. The order does not change the result, because an error counts only if everything else matches.
type match struct {
	include, exclude   []rule
	equivalent         bool
	namespaces, object labels.Selector
	err                error // the error of a selector that cannot be parsed
	missing            bool  // there are no constraints; validation does not allow that
}

func newMatch(m *admissionregistrationv1.MatchResources) *match {
	if m == nil {
		return &match{missing: true}
	}
	out := &match{
		include: newRules(m.ResourceRules), exclude: newRules(m.ExcludeResourceRules),
		equivalent: m.MatchPolicy != nil && *m.MatchPolicy == admissionregistrationv1.Equivalent,
	}
	if out.namespaces, out.err = metav1.LabelSelectorAsSelector(m.NamespaceSelector); out.err == nil {
		out.object, out.err = metav1.LabelSelectorAsSelector(m.ObjectSelector)
	}
	return out
}

// matched is the kind and resource of the request for a policy or binding.
type matched struct {
	resource schema.GroupVersionResource
	kind     schema.GroupVersionKind
}

// matches reports whether the request matches, and in which kind and resource.
func (m *match) matches(r *request) (matched, bool, error) {
	if m.missing {
		return matched{}, false, errors.New("policy contained no match constraints, a required field")
	}
	as := matched{resource: r.resource}
	ok := len(m.include) == 0
	var err error
	if !ok {
		if as, ok, err = m.find(m.include, r); err != nil || !ok {
			return as, false, err
		}
	}
	if _, excluded, err := m.find(m.exclude, r); excluded || err != nil {
		return as, false, err
	}
	if m.err != nil {
		return as, false, apierrors.NewInternalError(m.err)
	}
	if !m.object.Empty() {
		object := r.labels()
		if !(object.after != nil && m.object.Matches(object.after)) && !(object.before != nil && m.object.Matches(object.before)) {
			return as, false, nil
		}
	}
	if !m.namespaces.Empty() && (r.namespace != "" || r.resource.Resource == "namespaces") {
		namespace, err := r.namespaceLabels()
		if err != nil && !apierrors.IsNotFound(err) {
			err = apierrors.NewInternalError(err)
		}
		if err != nil || !m.namespaces.Matches(namespace) {
			return as, false, err
		}
	}
	if as.kind.Empty() {
		as.kind = r.GetKind()
	}
	return as, true, nil
}

// find returns the resource of the first rule that matches the request. With the matchPolicy Equivalent, rules for other
// versions of the resource match, too.
func (m *match) find(rules []rule, r *request) (matched, bool, error) {
	for i := range rules {
		if rules[i].matches(r, r.resource) && rules[i].hasName(r.name) {
			return matched{resource: r.resource}, true, nil
		}
	}
	if !m.equivalent || len(rules) == 0 {
		return matched{}, false, nil
	}
	others := r.others()
	for i := range rules {
		for _, gvr := range others {
			if !rules[i].matches(r, gvr) {
				continue
			}
			kind := r.GetEquivalentResourceMapper().KindFor(gvr, r.subresource)
			if kind.Empty() {
				return matched{}, false, fmt.Errorf("unable to convert to %v: unknown kind", gvr)
			}
			if rules[i].hasName(r.name) {
				return matched{gvr, kind}, true, nil
			}
		}
	}
	return matched{}, false, nil
}

// rule matches operations on resources.
type rule struct {
	operations       []admissionregistrationv1.OperationType
	groups, versions []string
	resources        []resourceRule
	scope            admissionregistrationv1.ScopeType
	names            []string
}

// resourceRule is a resource and a subresource. "*" matches any.
type resourceRule struct{ resource, subresource string }

func newRules(named []admissionregistrationv1.NamedRuleWithOperations) []rule {
	rules := make([]rule, len(named))
	for i, n := range named {
		rules[i] = rule{operations: n.Operations, groups: n.APIGroups, versions: n.APIVersions, names: n.ResourceNames}
		if n.Scope != nil && *n.Scope != admissionregistrationv1.AllScopes {
			rules[i].scope = *n.Scope
		}
		for _, name := range n.Resources {
			resource, subresource, _ := strings.Cut(name, "/")
			rules[i].resources = append(rules[i].resources, resourceRule{resource, subresource})
		}
	}
	return rules
}

func (r *rule) matches(request *request, gvr schema.GroupVersionResource) bool {
	return r.matchesResource(gvr.Resource, request.subresource) && oneOf(r.groups, gvr.Group) && oneOf(r.versions, gvr.Version) &&
		r.matchesOperation(request.operation) && r.matchesScope(gvr, request.namespace)
}

func (r *rule) matchesResource(resource, subresource string) bool {
	for _, pair := range r.resources {
		if (pair.resource == "*" || pair.resource == resource) && (pair.subresource == "*" || pair.subresource == subresource) {
			return true
		}
	}
	return false
}

func (r *rule) matchesOperation(operation admission.Operation) bool {
	return slices.ContainsFunc(r.operations, func(o admissionregistrationv1.OperationType) bool {
		return o == admissionregistrationv1.OperationAll || string(o) == string(operation)
	})
}

// matchesScope reports whether the request has the scope of a rule. Namespaces are cluster-scoped.
func (r *rule) matchesScope(gvr schema.GroupVersionResource, namespace string) bool {
	clusterScoped := namespace == "" || gvr == schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	switch r.scope {
	case admissionregistrationv1.ClusterScope:
		return clusterScoped
	case admissionregistrationv1.NamespacedScope:
		return !clusterScoped
	}
	return true
}

func (r *rule) hasName(name string) bool { return len(r.names) == 0 || slices.Contains(r.names, name) }

func oneOf(items []string, requested string) bool {
	return slices.Contains(items, "*") || slices.Contains(items, requested)
}
