package builtin

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// contextAuthorizer is the authorizer and rule resolver of the cluster in the context, for upstream's code.
type contextAuthorizer struct{}

// Authorize implements authorizer.Authorizer.
func (contextAuthorizer) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	c, err := ClusterFrom(ctx)
	if err != nil {
		return authorizer.DecisionNoOpinion, "", err
	}
	return c.Decider().Authorize(ctx, a)
}

// ConditionsAwareAuthorize implements authorizer.Authorizer: there are no conditions.
func (a contextAuthorizer) ConditionsAwareAuthorize(ctx context.Context, attributes authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(a.Authorize(ctx, attributes))
}

// EvaluateConditions implements authorizer.Authorizer.
func (contextAuthorizer) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}

// RulesFor implements authorizer.RuleResolver.
func (contextAuthorizer) RulesFor(ctx context.Context, u user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	c, err := ClusterFrom(ctx)
	if err != nil {
		return nil, nil, true, err
	}
	return c.Decider().RulesFor(ctx, u, namespace)
}

// ruleResolver resolves the rules of the cluster in the context.
type ruleResolver struct{}

// GetRoleReferenceRules implements upstream's AuthorizationRuleResolver.
func (ruleResolver) GetRoleReferenceRules(ctx context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	c, err := ClusterFrom(ctx)
	if err != nil {
		return nil, err
	}
	return c.Rules().Resolver().GetRoleReferenceRules(ctx, ref, namespace)
}

// RulesFor implements upstream's AuthorizationRuleResolver.
func (ruleResolver) RulesFor(ctx context.Context, u user.Info, namespace string) ([]rbacv1.PolicyRule, error) {
	c, err := ClusterFrom(ctx)
	if err != nil {
		return nil, err
	}
	return c.Rules().Resolver().RulesFor(ctx, u, namespace)
}

// VisitRulesFor implements upstream's AuthorizationRuleResolver.
func (ruleResolver) VisitRulesFor(ctx context.Context, u user.Info, namespace string, visitor func(source fmt.Stringer, rule *rbacv1.PolicyRule, err error) bool) {
	c, err := ClusterFrom(ctx)
	if err != nil {
		visitor(nil, nil, err)
		return
	}
	c.Rules().Resolver().VisitRulesFor(ctx, u, namespace, visitor)
}
