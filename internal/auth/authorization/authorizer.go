package authorization

import (
	"context"
	"errors"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	rbacvalidation "k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
)

// Authorizer authorizes requests, and resolves the rules of users.
type Authorizer interface {
	authorizer.Authorizer
	authorizer.RuleResolver
}

// By returns an authorizer for the one of a test. Members of system:masters may still do everything. The rules of a user
// are those in r.
func By(r *Rules, a authorizer.Authorizer) Authorizer {
	return byModes{exceptPrivileged{a}, ByRules(r)}
}

// exceptPrivileged calls an authorizer for all users except members of system:masters.
type exceptPrivileged struct{ authorizer.Authorizer }

// Authorize implements authorizer.Authorizer.
func (e exceptPrivileged) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if u := a.GetUser(); u != nil && IsPrivileged(u) {
		return authorizer.DecisionAllow, "", nil
	}
	return e.Authorizer.Authorize(ctx, a)
}

// ConditionsAwareAuthorize implements authorizer.Authorizer.
func (e exceptPrivileged) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(e.Authorize(ctx, a))
}

type byModes struct {
	authorizer.Authorizer
	authorizer.RuleResolver
}

// ByRules returns an authorizer that allows what the rules allow, and everything to system:masters.
func ByRules(r *Rules) Authorizer { return byRules{r} }

// IsPrivileged reports whether a user is a member of system:masters.
func IsPrivileged(u user.Info) bool {
	return u == authentication.Admin || slices.Contains(u.GetGroups(), user.SystemPrivilegedGroup)
}

type byRules struct{ rules *Rules }

// authorizerOf returns upstream's authorizer with the bindings of a user to roles that may allow a subject; nil: to all
// roles. Most roles of a user concern other resources.
func (b byRules) authorizerOf(u user.Info, s *subject) (*rbac.RBACAuthorizer, error) {
	read, err := b.rules.load()
	if err != nil {
		return nil, err
	}
	v := &view{read, u, s, "role", "clusterrole"} // as in errors of upstream's listers
	return rbac.New(v, v, v, v), nil
}

// Authorize implements authorizer.Authorizer.
func (b byRules) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	u := a.GetUser()
	if u == nil {
		return authorizer.DecisionNoOpinion, "", errors.New("no user on request")
	}
	if IsPrivileged(u) {
		return authorizer.DecisionAllow, "", nil
	}
	rbac, err := b.authorizerOf(u, subjectOf(a))
	if err != nil {
		return authorizer.DecisionNoOpinion, "", err
	}
	return rbac.Authorize(ctx, a)
}

// ConditionsAwareAuthorize implements authorizer.Authorizer: there are no conditions.
func (b byRules) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(b.Authorize(ctx, a))
}

// EvaluateConditions implements authorizer.Authorizer.
func (byRules) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}

// RulesFor implements authorizer.RuleResolver.
func (b byRules) RulesFor(ctx context.Context, u user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	rbac, err := b.authorizerOf(u, nil)
	if err != nil {
		return nil, nil, true, err
	}
	return rbac.RulesFor(ctx, u, namespace)
}

// Resolver returns the resolver of the rules of users, for the checks of privilege escalation.
func (r *Rules) Resolver() rbacvalidation.AuthorizationRuleResolver { return resolver{r} }

type resolver struct{ rules *Rules }

func (r resolver) rulesOf(ctx context.Context, u user.Info) (*rbacvalidation.DefaultRuleResolver, error) {
	read, err := r.rules.load()
	if err != nil {
		return nil, err
	}
	v := &view{read, u, nil, "roles", "clusterroles"}
	if info, ok := apirequest.RequestInfoFrom(ctx); ok && info.Resource != "" {
		// As upstream, the NotFound error for a missing role has the resource of the request.
		v.roleName, v.clusterRoleName = info.Resource, info.Resource
	}
	return rbacvalidation.NewDefaultRuleResolver(v, v, v, v), nil
}

// GetRoleReferenceRules implements upstream's AuthorizationRuleResolver.
func (r resolver) GetRoleReferenceRules(ctx context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	rules, err := r.rulesOf(ctx, &user.DefaultInfo{})
	if err != nil {
		return nil, err
	}
	return rules.GetRoleReferenceRules(ctx, ref, namespace)
}

// RulesFor implements upstream's AuthorizationRuleResolver.
func (r resolver) RulesFor(ctx context.Context, u user.Info, namespace string) ([]rbacv1.PolicyRule, error) {
	rules, err := r.rulesOf(ctx, u)
	if err != nil {
		return nil, err
	}
	return rules.RulesFor(ctx, u, namespace)
}

// VisitRulesFor implements upstream's AuthorizationRuleResolver.
func (r resolver) VisitRulesFor(ctx context.Context, u user.Info, namespace string, visitor func(source fmt.Stringer, rule *rbacv1.PolicyRule, err error) bool) {
	rules, err := r.rulesOf(ctx, u)
	if err != nil {
		visitor(nil, nil, err)
		return
	}
	rules.VisitRulesFor(ctx, u, namespace, visitor)
}
