package fields

import (
	"slices"
	"time"
)

// lastApplied is the annotation in which kubectl apply stores the manifest (client-side apply).
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Apply merges the configuration of a manager into a live object, and computes the owners of its fields. It fails with
// upstream's conflict if other managers own fields that the configuration would change.
func (e *Engine) Apply(live, configuration map[string]any, former *Managed, manager string, force bool, now time.Time) (Result, error) {
	p := e.pass(live, now)
	if !e.hasKind(configuration) {
		p.decline("a configuration of another version")
	}
	if m, _ := configuration["metadata"].(map[string]any); m != nil {
		if _, ok := m["managedFields"]; ok {
			p.decline("a configuration with managedFields")
		}
	}
	// Upstream migrates the object from client-side apply.
	if manager == "kubectl" && (isAnnotated(live) || isAnnotated(configuration)) {
		p.decline("what kubectl applied by itself before")
	}
	entries := former.entries
	if len(entries) == 0 && p.declined == "" {
		before := e.pass(e.empty(), now)
		entries = before.update(live, nil, "before-first-apply")
		p.declined = before.declined
	}
	if p.declined != "" {
		return Result{Declined: p.declined}, nil
	}
	return p.apply(configuration, entries, former, manager, force)
}

func isAnnotated(obj map[string]any) bool {
	metadata, _ := obj["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	_, ok := annotations[lastApplied]
	return ok
}

func (p *pass) apply(configuration map[string]any, entries []*entry, former *Managed, manager string, force bool) (Result, error) {
	if manager == "" {
		manager = "unknown"
	}
	self := &entry{manager: manager, operation: Apply, apiVersion: p.APIVersion, subresource: p.Subresource}
	entries = p.reconcile(entries)
	tree := p.tree(p.APIVersion)
	if p.declined != "" {
		return Result{Declined: p.declined}, nil
	}
	i := slices.IndexFunc(entries, self.isOf)
	var before *Set
	if i >= 0 {
		before = entries[i].set
	}
	w := walk{tree: tree}
	self.set, self.reconciled = p.Reset[p.APIVersion].kept(w.own(configuration, before)), tree
	defaulted := w.defaulted
	obj := p.live
	m := merged{same: true}
	if w.declined == "" {
		m = w.merge(p.live, configuration)
		obj, _ = m.value.(map[string]any)
	}
	p.declineAs(&w)

	var last *entry
	if i >= 0 && entries[i].set != nil {
		last = entries[i]
		if p.hasOthers(entries) || last.apiVersion != p.APIVersion {
			p.decline("an apply to an object with owners in several versions")
		}
	}
	// A manager that applies all fields of its last apply removes nothing, with two exceptions: upstream removes an
	// empty list, which is not in sets, and an item that has a key by default only.
	if last == nil || !defaulted && self.set.contains(last.set) {
		main := p.compare(obj)
		if last == nil || !main.hollow {
			return p.applied(obj, main, m.same, entries, i, self, former, force)
		}
	}
	if p.declined == "" {
		w := walk{tree: tree, everything: true}
		applied := p.Reset[p.APIVersion].kept(w.own(configuration, nil))
		obj = w.prune(obj, last.set, ownedBy(entries, i, applied))
		p.declineAs(&w)
		if obj == nil {
			p.decline("an object of which nothing is left")
		}
	}
	return p.applied(obj, p.compare(obj), false, entries, i, self, former, force)
}

// hasOthers reports whether there are owners in other versions.
func (p *pass) hasOthers(entries []*entry) bool {
	return slices.ContainsFunc(entries, func(e *entry) bool { return e.apiVersion != p.APIVersion })
}

// ownedBy returns the union of the fields of all managers, with the new fields of the applier.
func ownedBy(entries []*entry, self int, applied *Set) *Set {
	for i, e := range entries {
		if i != self {
			applied = union(applied, e.set)
		}
	}
	return applied
}

// applied computes the owners after an apply. The entry of the applier is at index i; -1: it has none yet.
func (p *pass) applied(obj map[string]any, main *pair, same bool, entries []*entry, i int, self *entry, former *Managed, force bool) (Result, error) {
	if p.declined != "" {
		return Result{Declined: p.declined}, nil
	}
	unchanged := same || main.comparison == (comparison{}) && equal(p.live, obj)
	p.applyReset(main)

	out := make([]*entry, 0, len(entries)+1)
	var conflicts []conflict
	for n, e := range entries {
		if n == i {
			continue
		}
		in := p.versioned(e.apiVersion, obj)
		if p.declined != "" {
			return Result{Declined: p.declined}, nil
		}
		taken := intersection(e.set, in.changed)
		if taken != nil && !force {
			conflicts = append(conflicts, conflict{e, taken})
		}
		if left := difference(difference(e.set, taken), in.removed); left != nil {
			out = append(out, e.with(left))
		}
	}
	if conflicts != nil {
		return Result{}, refusal(conflicts, len(former.entries) > 0)
	}
	if self.set != nil {
		if i >= 0 {
			last := entries[i]
			self.time = last.time
			if last.apiVersion == self.apiVersion && last.set.contains(self.set) && self.set.contains(last.set) {
				self = last
			}
		}
		if !unchanged {
			self = self.withTime(p.now)
		}
		out = append(out, self)
	}
	result := Result{Object: obj}
	if unchanged {
		result.Object = nil
	}
	slices.SortFunc(out, compareEntries)
	result.Managed = p.managed(out, former)
	return result, nil
}
