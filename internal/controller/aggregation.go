package controller

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	rbacv1apply "k8s.io/client-go/applyconfigurations/rbac/v1"
)

var clusterRoles = kind{rbacv1.GroupName, "clusterroles"}

// aggregation sets the rules of ClusterRoles with an aggregationRule to those of the selected ClusterRoles.
func aggregation() *controller {
	return &controller{
		identity: ServiceAccount("clusterrole-aggregation-controller"),
		follows: []followed{{kind: clusterRoles, begins: true, concerns: func(s *step, c change) error {
			if c.obj != nil { // the others are there, too
				if role, err := after[*rbacv1.ClusterRole](c); err != nil || role.AggregationRule == nil {
					return err
				}
			}
			return enqueueAggregated(s)
		}}},
		sync: func(s *step, k key) error {
			role, err := find[*rbacv1.ClusterRole](s, clusterRoles, "", k.name)
			if err != nil || role == nil || role.AggregationRule == nil {
				return err
			}
			wanted, err := aggregatedRules(s, role)
			if err != nil || equality.Semantic.DeepEqual(wanted, role.Rules) {
				return err
			}
			configuration := rbacv1apply.ClusterRole(role.Name)
			for _, r := range wanted {
				configuration.WithRules(&rbacv1apply.PolicyRuleApplyConfiguration{
					Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames, NonResourceURLs: r.NonResourceURLs,
				})
			}
			return s.apply(clusterRoles, role, "", "clusterrole-aggregation-controller", configuration)
		},
	}
}

// enqueueAggregated enqueues the roles with an aggregationRule, each after the roles that it selects: admin selects
// edit, which selects view. In another order a role would be written again after each of those.
func enqueueAggregated(s *step) error {
	roles, err := listed[*rbacv1.ClusterRole](s, clusterRoles, "", nil)
	if err != nil {
		return err
	}
	roles = slices.DeleteFunc(roles, func(r *rbacv1.ClusterRole) bool { return r.AggregationRule == nil })
	visited := map[string]bool{}
	var visit func(*rbacv1.ClusterRole) error
	visit = func(role *rbacv1.ClusterRole) error {
		if visited[role.Name] {
			return nil
		}
		visited[role.Name] = true
		for _, other := range roles {
			selected, err := selects(role, other)
			if err != nil {
				return err
			}
			if selected {
				if err := visit(other); err != nil {
					return err
				}
			}
		}
		s.enqueue(key{name: role.Name})
		return nil
	}
	for _, role := range roles {
		if err := visit(role); err != nil {
			return err
		}
	}
	return nil
}

// selects reports whether the aggregationRule of a role selects another one.
func selects(role, other *rbacv1.ClusterRole) (bool, error) {
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil || selector.Matches(labels.Set(other.Labels)) {
			return err == nil, err
		}
	}
	return false, nil
}

// aggregatedRules returns the rules of the roles that a role selects, by selector and then by name,
// each once.
func aggregatedRules(s *step, role *rbacv1.ClusterRole) ([]rbacv1.PolicyRule, error) {
	rules := []rbacv1.PolicyRule{}
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, err
		}
		selected, err := listed[*rbacv1.ClusterRole](s, clusterRoles, "", selector)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(selected, func(a, b *rbacv1.ClusterRole) int { return compareNames(a, b) })
		for _, from := range selected {
			if from.Name == role.Name {
				continue
			}
			for _, rule := range from.Rules {
				if !slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(r, rule) }) {
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules, nil
}
