package flowcontrol

import (
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// matches reports whether a request matches a rule of a FlowSchema: one of its subjects, and one of its resource rules
// or, if the request is not for a resource, of its nonResourceRules.
func matches(spec *flowcontrolv1.FlowSchemaSpec, info *apirequest.RequestInfo, requester user.Info) bool {
	for i := range spec.Rules {
		rule := &spec.Rules[i]
		if !isSubject(rule.Subjects, requester) {
			continue
		}
		if info.IsResourceRequest {
			if slices.ContainsFunc(rule.ResourceRules, func(r flowcontrolv1.ResourcePolicyRule) bool { return matchesResource(&r, info) }) {
				return true
			}
		} else if slices.ContainsFunc(rule.NonResourceRules, func(r flowcontrolv1.NonResourcePolicyRule) bool {
			return has(r.Verbs, info.Verb) && matchesPath(r.NonResourceURLs, info.Path)
		}) {
			return true
		}
	}
	return false
}

// has reports whether a list has a value. The list "*" has every value.
func has(list []string, value string) bool {
	return len(list) == 1 && list[0] == "*" || slices.Contains(list, value)
}

func isSubject(subjects []flowcontrolv1.Subject, requester user.Info) bool {
	return slices.ContainsFunc(subjects, func(s flowcontrolv1.Subject) bool { return isUser(&s, requester) })
}

func isUser(s *flowcontrolv1.Subject, requester user.Info) bool {
	switch {
	case s.Kind == flowcontrolv1.SubjectKindUser && s.User != nil:
		return s.User.Name == flowcontrolv1.NameAll || s.User.Name == requester.GetName()
	case s.Kind == flowcontrolv1.SubjectKindGroup && s.Group != nil:
		return s.Group.Name == flowcontrolv1.NameAll || slices.Contains(requester.GetGroups(), s.Group.Name)
	case s.Kind == flowcontrolv1.SubjectKindServiceAccount && s.ServiceAccount != nil:
		namespace, name := s.ServiceAccount.Namespace, s.ServiceAccount.Name
		if name != flowcontrolv1.NameAll {
			return serviceaccount.MatchesUsername(namespace, name, requester.GetName())
		}
		account, ok := strings.CutPrefix(requester.GetName(), serviceaccount.ServiceAccountUsernamePrefix)
		in, _, named := strings.Cut(account, serviceaccount.ServiceAccountUsernameSeparator)
		return ok && named && in == namespace
	}
	return false
}

func matchesResource(r *flowcontrolv1.ResourcePolicyRule, info *apirequest.RequestInfo) bool {
	if !has(r.Verbs, info.Verb) || !has(r.APIGroups, info.APIGroup) {
		return false
	}
	if anyResource := len(r.Resources) == 1 && r.Resources[0] == flowcontrolv1.ResourceAll; !anyResource && !hasResource(r.Resources, info) {
		return false
	}
	if info.Namespace == "" {
		return r.ClusterScope
	}
	return has(r.Namespaces, info.Namespace)
}

// hasResource reports whether a list has the resource of a request, or its subresource as resource/subresource.
func hasResource(list []string, info *apirequest.RequestInfo) bool {
	if info.Subresource == "" {
		return slices.Contains(list, info.Resource)
	}
	return slices.Contains(list, info.Resource+"/"+info.Subresource)
}

// matchesPath reports whether a path is one of a list, or below one. A final "*" of an entry has no effect.
func matchesPath(list []string, path string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		if entry == flowcontrolv1.NonResourceAll || entry == path {
			return true
		}
		below, ok := strings.CutPrefix(path, strings.TrimSuffix(strings.TrimSuffix(entry, "*"), "/"))
		return ok && strings.HasPrefix(below, "/")
	})
}
