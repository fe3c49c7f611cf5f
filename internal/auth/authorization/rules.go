package authorization

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	rbacvalidation "k8s.io/kubernetes/pkg/registry/rbac/validation"

	"github.com/fakecluster/fakecluster/store"
)

// Prefixes returns the prefix of the store keys of a built-in resource, given its plural. The prefix ends with a slash.
type Prefixes func(plural string) string

// Rules are the roles and bindings in a store. They are safe for concurrent use.
type Rules struct {
	store    *store.Store
	prefixes Prefixes
	keys     rulePrefixes
	current  atomic.Pointer[index]
}

// rulePrefixes has the prefixes of the store keys of roles and bindings.
type rulePrefixes struct {
	clusterRoles, clusterBindings, roles, bindings string
}

// NewRules returns the rules of a store with the given prefixes. For a fork, origin are the rules of the origin, whose
// parsed objects they reuse; otherwise it is nil.
func NewRules(s *store.Store, prefixes Prefixes, origin *Rules) *Rules {
	r := &Rules{store: s, prefixes: prefixes, keys: rulePrefixes{
		clusterRoles: prefixes("clusterroles"), clusterBindings: prefixes("clusterrolebindings"),
		roles: prefixes("roles"), bindings: prefixes("rolebindings"),
	}}
	if origin == nil {
		return r
	}
	// Update the origin first, so that further forks do not read the same again.
	if read, err := origin.load(); err == nil && read.revision <= s.Revision() {
		inherited := *read
		inherited.seen = &atomic.Int64{}
		inherited.seen.Store(read.revision)
		r.current.Store(&inherited)
	}
	return r
}

// index has the roles and bindings in a store at one revision.
type index struct {
	revision int64
	// seen is the revision up to which no role and no binding has changed.
	seen *atomic.Int64

	roles           map[string]*role // by NAMESPACE/NAME
	clusterRoles    map[string]*role // by name
	clusterBindings bindings[*rbacv1.ClusterRoleBinding]
	inNamespace     map[string]bindings[*rbacv1.RoleBinding]
	parsed          map[string]parsed // bindings, by store key
}

// role is a Role or ClusterRole, which is decoded when it is first needed.
type role struct {
	record store.Record
	// read returns the same rules in both forms.
	read func() (roleContent, error)
}

// roleContent has the rules of a Role or ClusterRole in upstream's types.
type roleContent struct {
	role        *rbacv1.Role
	clusterRole *rbacv1.ClusterRole
	// resources are the resources in the rules, with wildcards and subresources unchanged. urls: the rules have URLs.
	resources map[string]bool
	urls      bool
}

// parsed is a decoded binding at a revision.
type parsed struct {
	revision int64
	binding  any
}

// bindings has bindings by subject, sorted by the names of the bindings.
type bindings[B any] struct {
	everyone []B
	users    map[string][]int
	groups   map[string][]int
}

func (b *bindings[B]) add(binding B, namespace string, subjects []rbacv1.Subject) {
	if b.users == nil {
		b.users, b.groups = map[string][]int{}, map[string][]int{}
	}
	n := len(b.everyone)
	b.everyone = append(b.everyone, binding)
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			b.users[s.Name] = append(b.users[s.Name], n)
		case rbacv1.GroupKind:
			b.groups[s.Name] = append(b.groups[s.Name], n)
		case rbacv1.ServiceAccountKind:
			in := s.Namespace
			if in == "" {
				in = namespace
			}
			if in != "" {
				name := serviceaccount.MakeUsername(in, s.Name)
				b.users[name] = append(b.users[name], n)
			}
		}
	}
}

// bindingsOf returns the bindings of the user or of a group of the user.
func (b *bindings[B]) bindingsOf(u user.Info) []B {
	found := b.users[u.GetName()]
	lists := 0
	if len(found) > 0 {
		lists = 1
	}
	for _, g := range u.GetGroups() {
		if more := b.groups[g]; len(more) > 0 {
			found = append(found[:len(found):len(found)], more...)
			lists++
		}
	}
	if lists > 1 {
		slices.Sort(found)
		found = slices.Compact(found)
	}
	out := make([]B, len(found))
	for i, n := range found {
		out[i] = b.everyone[n]
	}
	return out
}

// load returns the index of the newest revision.
func (r *Rules) load() (*index, error) {
	for {
		former := r.current.Load()
		if former != nil {
			fresh, err := r.isFresh(former)
			if err != nil {
				return nil, err
			}
			if fresh {
				return former, nil
			}
		}
		read, err := r.read(former)
		var compacted *store.CompactedError
		if errors.As(err, &compacted) {
			continue // the revision was compacted meanwhile
		}
		if err != nil {
			return nil, err
		}
		r.current.CompareAndSwap(former, read)
		return read, nil
	}
}

// isFresh reports whether the roles and bindings in the store are those of an index. It reads the changes since its last
// call.
func (r *Rules) isFresh(i *index) (bool, error) {
	seen := i.seen.Load()
	if r.store.Revision() == seen {
		return true, nil
	}
	cursor, err := r.store.Watch("", seen)
	for err == nil {
		var events []*store.Event
		if events, err = cursor.Poll(); len(events) == 0 {
			break
		}
		for _, e := range events {
			if r.keys.isRule(e.Record.Key) {
				return false, nil
			}
		}
	}
	var compacted *store.CompactedError
	if errors.As(err, &compacted) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for seen := i.seen.Load(); seen < cursor.Revision() && !i.seen.CompareAndSwap(seen, cursor.Revision()); seen = i.seen.Load() {
	}
	return true, nil
}

// isRule reports whether a key belongs to a role or binding.
func (p rulePrefixes) isRule(key string) bool {
	return strings.HasPrefix(key, p.roles) || strings.HasPrefix(key, p.bindings) ||
		strings.HasPrefix(key, p.clusterRoles) || strings.HasPrefix(key, p.clusterBindings)
}

// read returns the index of the newest revision. It reuses unchanged objects of the former one.
func (r *Rules) read(former *index) (*index, error) {
	next := &index{
		revision: r.store.Revision(), seen: &atomic.Int64{},
		roles: map[string]*role{}, clusterRoles: map[string]*role{}, inNamespace: map[string]bindings[*rbacv1.RoleBinding]{}, parsed: map[string]parsed{},
	}
	next.seen.Store(next.revision)
	if former == nil {
		former = &index{}
	}
	each := func(prefix string, do func(store.Record) error) error {
		list, err := r.store.List(prefix, store.ListOptions{Revision: next.revision})
		if err != nil {
			return err
		}
		for _, record := range list.Records {
			if err := do(record); err != nil {
				return err
			}
		}
		return nil
	}
	addRoles := func(prefix string, to, former map[string]*role) error {
		return each(prefix, func(record store.Record) error {
			name := record.Key[len(prefix):]
			read := former[name]
			if read == nil || read.record.Revision != record.Revision {
				read = newRole(record)
			}
			to[name] = read
			return nil
		})
	}
	if err := addRoles(r.keys.clusterRoles, next.clusterRoles, former.clusterRoles); err != nil {
		return nil, err
	}
	if err := addRoles(r.keys.roles, next.roles, former.roles); err != nil {
		return nil, err
	}
	if err := each(r.keys.clusterBindings, func(record store.Record) error {
		binding, err := parse[rbacv1.ClusterRoleBinding](next, former, record)
		if err == nil {
			next.clusterBindings.add(binding, "", binding.Subjects)
		}
		return err
	}); err != nil {
		return nil, err
	}
	return next, each(r.keys.bindings, func(record store.Record) error {
		binding, err := parse[rbacv1.RoleBinding](next, former, record)
		if err == nil {
			in := next.inNamespace[binding.Namespace]
			in.add(binding, binding.Namespace, binding.Subjects)
			next.inNamespace[binding.Namespace] = in
		}
		return err
	})
}

// parse decodes a binding, unless the former index has it.
func parse[B any](next, former *index, record store.Record) (*B, error) {
	read, ok := former.parsed[record.Key]
	if !ok || read.revision != record.Revision {
		binding := new(B)
		if err := json.Unmarshal([]byte(record.Value), binding); err != nil {
			return nil, err
		}
		read = parsed{record.Revision, binding}
	}
	next.parsed[record.Key] = read
	return read.binding.(*B), nil
}

func newRole(record store.Record) *role {
	return &role{record: record, read: sync.OnceValues(func() (roleContent, error) {
		var content struct {
			Rules []rbacv1.PolicyRule `json:"rules"`
		}
		err := json.Unmarshal([]byte(record.Value), &content)
		out := roleContent{role: &rbacv1.Role{Rules: content.Rules}, clusterRole: &rbacv1.ClusterRole{Rules: content.Rules}, resources: map[string]bool{}}
		for _, rule := range content.Rules {
			for _, r := range rule.Resources {
				out.resources[r] = true
			}
			out.urls = out.urls || len(rule.NonResourceURLs) > 0
		}
		return out, err
	})}
}

// subject has the properties of a request by which roles are selected.
type subject struct {
	isResource bool
	resource   string // with its subresource
	any        string // the same subresource of any resource, such as */scale; empty: none
}

func subjectOf(a authorizer.Attributes) *subject {
	s := &subject{isResource: a.IsResourceRequest(), resource: a.GetResource()}
	if sub := a.GetSubresource(); sub != "" {
		s.resource, s.any = s.resource+"/"+sub, rbacv1.ResourceAll+"/"+sub
	}
	return s
}

// mayAllow returns false if a role certainly does not allow a subject. Otherwise upstream's code decides; it also
// returns the error for a role that does not exist or cannot be decoded.
func (r *role) mayAllow(s *subject) bool {
	if s == nil || r == nil {
		return true
	}
	rules, err := r.read()
	if err != nil {
		return true
	}
	if !s.isResource {
		return rules.urls
	}
	return rules.resources[s.resource] || rules.resources[rbacv1.ResourceAll] || s.any != "" && rules.resources[s.any]
}

// view is an index in the form for upstream's resolver: all roles, and the bindings of one user to roles that may allow
// a subject.
type view struct {
	*index
	user user.Info
	// subject selects the roles; nil: all.
	subject *subject
	// roleName and clusterRoleName are the resources in NotFound errors.
	roleName, clusterRoleName string
}

var (
	_ rbacvalidation.RoleGetter               = view{}
	_ rbacvalidation.RoleBindingLister        = view{}
	_ rbacvalidation.ClusterRoleGetter        = view{}
	_ rbacvalidation.ClusterRoleBindingLister = view{}
)

// GetRole implements upstream's RoleGetter.
func (v view) GetRole(_ context.Context, namespace, name string) (*rbacv1.Role, error) {
	r := v.roles[namespace+"/"+name]
	if r == nil {
		return nil, apierrors.NewNotFound(rbacv1.Resource(v.roleName), name)
	}
	rules, err := r.read()
	return rules.role, err
}

// GetClusterRole implements upstream's ClusterRoleGetter.
func (v view) GetClusterRole(_ context.Context, name string) (*rbacv1.ClusterRole, error) {
	r := v.clusterRoles[name]
	if r == nil {
		return nil, apierrors.NewNotFound(rbacv1.Resource(v.clusterRoleName), name)
	}
	rules, err := r.read()
	return rules.clusterRole, err
}

// ListRoleBindings implements upstream's RoleBindingLister.
func (v view) ListRoleBindings(_ context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	in := v.inNamespace[namespace]
	return slices.DeleteFunc(in.bindingsOf(v.user), func(b *rbacv1.RoleBinding) bool {
		if b.RoleRef.Kind == "ClusterRole" {
			return !v.clusterRoles[b.RoleRef.Name].mayAllow(v.subject)
		}
		return !v.roles[namespace+"/"+b.RoleRef.Name].mayAllow(v.subject)
	}), nil
}

// ListClusterRoleBindings implements upstream's ClusterRoleBindingLister.
func (v view) ListClusterRoleBindings(context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	return slices.DeleteFunc(v.clusterBindings.bindingsOf(v.user), func(b *rbacv1.ClusterRoleBinding) bool {
		return !v.clusterRoles[b.RoleRef.Name].mayAllow(v.subject)
	}), nil
}
