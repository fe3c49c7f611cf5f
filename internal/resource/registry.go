package resource

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/fakecluster/fakecluster/store"
)

// Registry has all kinds that are served at one revision: the built-in ones and those of definitions. It is immutable; a
// change makes a new one. (It is not a registry of images.)
type Registry struct {
	// Revision is the revision up to which the registry takes writes into account.
	Revision int64

	builtin     []*Resource
	groups      []*Group
	fixed       int // the number of groups with built-in resources, which come first
	byName      map[string]*Group
	byKey       map[schema.GroupResource]*Resource
	definitions map[string]*Definition
	ofGroup     map[string][]*Definition // by name

	memo *sync.Map // see Memo
}

// Definition is a CustomResourceDefinition in the registry, with or without an endpoint.
type Definition struct {
	Record store.Precondition // the record of the definition
	Name   string
	Group  string
	// Accepted are the accepted names of the definition. No other definition of the group may have them.
	Accepted Names
	// Contested: the definition waits for a name that another one has.
	Contested bool
	// Terminating: the definition is being deleted.
	Terminating bool
	// Versions are the names of all versions of the definition, and Serves those with served: true, with or without an
	// endpoint.
	Versions, Serves []string
	// Resource is the endpoint; nil: none yet.
	Resource *Resource
}

// Group is an API group that is served.
type Group struct {
	Name string
	// Versions are the names of the served versions in the order of discovery, the preferred one first.
	Versions []string
	// Resources are in the order of discovery.
	Resources []*Resource
	// Routing is the Routing of the first resource of the group. A custom resource in a
	// built-in group changes nothing about the paths of the group itself.
	Routing Routing

	own []string // versions with built-in resources
}

// NewRegistry returns a registry of built-in and custom resources. The built-in groups come first, in the order given,
// then the others by name. A custom resource never replaces a built-in one.
func NewRegistry(revision int64, builtin []*Resource, definitions []*Definition) *Registry {
	c := &Registry{
		Revision:    revision,
		builtin:     builtin,
		byName:      map[string]*Group{},
		byKey:       make(map[schema.GroupResource]*Resource, len(builtin)+len(definitions)),
		definitions: make(map[string]*Definition, len(definitions)),
		ofGroup:     map[string][]*Definition{},
		memo:        &sync.Map{},
	}
	c.add(builtin)
	c.fixed = len(c.groups)
	definitions = slices.Clone(definitions)
	sortDefinitions(definitions)
	for _, d := range definitions {
		c.definitions[d.Name] = d
		c.ofGroup[d.Group] = append(c.ofGroup[d.Group], d)
		if d.Resource != nil {
			c.add([]*Resource{d.Resource})
		}
	}
	slices.SortFunc(c.groups[c.fixed:], compareGroups)
	for _, g := range c.groups {
		g.order()
	}
	return c
}

// At returns the same registry at a later revision.
func (c *Registry) At(revision int64) *Registry {
	later := *c
	later.Revision = revision
	return &later
}

// Memo returns the result of the first call of make for a key. It must depend on the resources only: registries of the
// same resources at other revisions, also in forks, share it. make may be called concurrently.
func (c *Registry) Memo(key string, make func() any) any {
	if made, ok := c.memo.Load(key); ok {
		return made
	}
	made, _ := c.memo.LoadOrStore(key, make())
	return made
}

// With returns the registry after some definitions have changed and some are gone. The result equals that of
// NewRegistry, but only the groups of these definitions are made again, so that one of thousands of definitions costs
// little more than one of a few.
func (c *Registry) With(revision int64, changed []*Definition, gone []string) *Registry {
	next := &Registry{
		Revision: revision, builtin: c.builtin, fixed: c.fixed,
		groups: slices.Clone(c.groups), byName: maps.Clone(c.byName), byKey: maps.Clone(c.byKey),
		definitions: maps.Clone(c.definitions), ofGroup: maps.Clone(c.ofGroup), memo: &sync.Map{},
	}
	touched := map[string]bool{}
	forget := func(name string) {
		if former := c.definitions[name]; former != nil {
			touched[former.Group] = true
			delete(next.definitions, name)
		}
	}
	for _, name := range gone {
		forget(name)
	}
	for _, d := range changed {
		forget(d.Name)
		touched[d.Group] = true
		next.definitions[d.Name] = d
	}
	for name := range touched {
		next.remake(name, c, changed)
	}
	return next
}

// remake makes a group again after changes of its definitions.
func (c *Registry) remake(group string, former *Registry, changed []*Definition) {
	var definitions []*Definition
	for _, d := range former.ofGroup[group] {
		if c.definitions[d.Name] == d {
			definitions = append(definitions, d)
		}
	}
	for _, d := range changed {
		if d.Group == group {
			definitions = append(definitions, d)
		}
	}
	sortDefinitions(definitions)
	c.ofGroup[group] = definitions
	if len(definitions) == 0 {
		delete(c.ofGroup, group)
	}

	index, had := -1, former.byName[group]
	if had != nil {
		for _, r := range had.Resources {
			delete(c.byKey, r.GroupResource())
		}
		index = slices.Index(c.groups, had)
	}
	part := &Registry{byName: map[string]*Group{}, byKey: c.byKey}
	for _, r := range c.builtin {
		if r.Group == group {
			part.add([]*Resource{r})
		}
	}
	for _, d := range definitions {
		if d.Resource != nil {
			part.add([]*Resource{d.Resource})
		}
	}
	known := part.byName[group]
	if known != nil {
		known.order()
		c.byName[group] = known
	} else {
		delete(c.byName, group)
	}
	switch {
	case known != nil && had != nil:
		c.groups[index] = known
	case known != nil:
		custom := c.groups[c.fixed:]
		place, _ := slices.BinarySearchFunc(custom, known, compareGroups)
		c.groups = slices.Insert(c.groups, c.fixed+place, known)
	case had != nil:
		c.groups = slices.Delete(c.groups, index, index+1)
	}
}

func compareGroups(a, b *Group) int { return strings.Compare(a.Name, b.Name) }

func sortDefinitions(definitions []*Definition) {
	slices.SortFunc(definitions, func(a, b *Definition) int { return strings.Compare(a.Name, b.Name) })
}

func (c *Registry) add(resources []*Resource) {
	for _, r := range resources {
		if _, taken := c.byKey[r.GroupResource()]; taken {
			continue
		}
		c.byKey[r.GroupResource()] = r
		g := c.byName[r.Group]
		if g == nil {
			g = &Group{Name: r.Group, Routing: r.Routing}
			c.groups = append(c.groups, g)
			c.byName[r.Group] = g
		}
		g.Resources = append(g.Resources, r)
	}
}

// order sorts the versions by priority, as discovery shows them, and the resources by name.
func (g *Group) order() {
	for _, r := range g.Resources {
		for _, v := range r.Versions {
			if !v.Served {
				continue
			}
			if !slices.Contains(g.Versions, v.Name) {
				g.Versions = append(g.Versions, v.Name)
			}
			if r.Definition.Key == "" && !slices.Contains(g.own, v.Name) {
				g.own = append(g.own, v.Name)
			}
		}
	}
	slices.SortFunc(g.Versions, func(a, b string) int {
		return cmp.Or(cmp.Compare(g.Priority(b).Version, g.Priority(a).Version), version.CompareKubeAwareVersionStrings(b, a))
	})
	slices.SortFunc(g.Resources, func(a, b *Resource) int { return strings.Compare(a.Names.Plural, b.Names.Plural) })
}

// Priority returns the priority of a version of the group: that of the version's first resource. A custom resource does
// not change the priority of a version with built-in resources.
func (g *Group) Priority(version string) Priority {
	var custom Priority
	for _, r := range g.Resources {
		if v := r.Version(version); v != nil && v.Served {
			if r.Definition.Key == "" {
				return v.Priority
			}
			custom = v.Priority
		}
	}
	return custom
}

// Groups returns the groups in the order of discovery. The core group has the
// empty name.
func (c *Registry) Groups() []*Group { return c.groups }

// Group returns the group with a name, or nil.
func (c *Registry) Group(name string) *Group { return c.byName[name] }

// Resource returns the resource with a group and a plural name, or nil.
func (c *Registry) Resource(group, plural string) *Resource {
	return c.byKey[schema.GroupResource{Group: group, Resource: plural}]
}

// Sharing returns the resources that show the same records as r: r itself, then resources of
// other groups. For example, events of the core group are events of events.k8s.io as well.
func (c *Registry) Sharing(r *Resource) []*Resource {
	resources := []*Resource{r}
	if r.Prefix == "" {
		return resources // the objects are not stored
	}
	for _, g := range c.groups {
		for _, other := range g.Resources {
			if other != r && other.Prefix == r.Prefix {
				resources = append(resources, other)
			}
		}
	}
	return resources
}

// Kind returns the resource that serves a kind in its version, or nil.
func (c *Registry) Kind(kind schema.GroupVersionKind) *Resource {
	g := c.byName[kind.Group]
	if g == nil {
		return nil
	}
	for _, r := range g.Resources {
		if v := r.Version(kind.Version); r.Names.Kind == kind.Kind && v != nil && v.Served && slices.Contains(r.Verbs, "get") {
			return r
		}
	}
	return nil
}

// ResourceOf returns the resource of the object with a store key, or nil.
func (c *Registry) ResourceOf(key string) *Resource {
	var found *Resource
	for _, r := range c.byKey {
		// Several resources may show the same objects; return the one that stores them.
		if r.Prefix != "" && strings.HasPrefix(key, r.Prefix) && (r.Storage == nil || r.Storage.Resource == r) && (found == nil || len(r.Prefix) > len(found.Prefix)) {
			found = r
		}
	}
	return found
}

// Definition returns the definition with a name, or nil.
func (c *Registry) Definition(name string) *Definition { return c.definitions[name] }

// Definitions returns the definitions of a group, sorted by name; "*" means all groups. The caller must not alter the
// slice of a single group.
func (c *Registry) Definitions(group string) []*Definition {
	if group != "*" {
		return c.ofGroup[group]
	}
	definitions := slices.Collect(maps.Values(c.definitions))
	sortDefinitions(definitions)
	return definitions
}

// IsOwn reports whether the group has built-in resources in a version.
func (g *Group) IsOwn(version string) bool { return slices.Contains(g.own, version) }

// Leads reports whether paths below the group lead to a version. If the group has built-in resources, they lead only to
// versions of these, because a real server then has handlers for the whole group.
func (g *Group) Leads(version string) bool { return len(g.own) == 0 || g.IsOwn(version) }

// Routed returns a served version of a resource if paths lead to it, or nil.
func (g *Group) Routed(r *Resource, version string) *Version {
	if r.Definition.Key != "" && len(g.own) > 0 {
		return nil
	}
	return r.served(version)
}

// Published returns a version of a resource if discovery and OpenAPI show it, or nil. A custom resource in a built-in
// group is shown in versions without built-in ones, although no path leads there.
func (g *Group) Published(r *Resource, version string) *Version {
	if r.Unlisted || r.Definition.Key != "" && g.IsOwn(version) {
		return nil
	}
	return r.served(version)
}

// served returns a version if it is served, or nil.
func (r *Resource) served(version string) *Version {
	if v := r.Version(version); v != nil && v.Served {
		return v
	}
	return nil
}

// Serves reports whether the group serves a version.
func (g *Group) Serves(version string) bool { return slices.Contains(g.Versions, version) }
