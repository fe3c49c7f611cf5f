package fields

import (
	"time"

	"github.com/fakecluster/fakecluster/internal/metadata"
)

// Engine manages the fields of a kind in one version, for the object itself or for a subresource. Objects are JSON
// trees, and are not altered.
//
// It is immutable and safe for concurrent use.
type Engine struct {
	APIVersion, Kind string
	Subresource      string

	// Trees has the trees of all versions of the kind, by apiVersion.
	Trees map[string]*Tree
	// Reset has filters that leave out the fields that the endpoint ignores, by apiVersion.
	Reset map[string]Filter
	// Convert converts an object to another version. It does not alter the object.
	Convert func(obj map[string]any, apiVersion string) (map[string]any, error)
	// Empty is an empty object of the kind: for a Go type, the JSON of its zero value. nil: only apiVersion and kind.
	Empty map[string]any
	// Listed: results have Managed.List, for objects with Go types. Otherwise they have Managed.Tree.
	Listed bool
}

// empty returns an empty object of the kind.
func (e *Engine) empty() map[string]any {
	if e.Empty != nil {
		return e.Empty
	}
	return map[string]any{"apiVersion": e.APIVersion, "kind": e.Kind}
}

// Result is the result of a write. If the engine has declined, the other fields are empty, and the caller must use
// upstream's field manager.
type Result struct {
	// Declined is why the engine declined; empty: it did not.
	Declined string
	// Managed has the new owners.
	Managed *Managed
	// Object is the result of an apply. It shares unchanged values with the live object, including
	// metadata.managedFields. nil: the apply does not change the object.
	Object map[string]any
}

// pair is the live object and the new one in one version.
type pair struct {
	apiVersion string
	live, obj  map[string]any
	tree       *Tree
	comparison
	changed *Set // added and modified
	hollow  bool // the object has an empty list, which is not in sets
}

// pass is the computation of one write.
type pass struct {
	*Engine
	now      string
	declined string
	pairs    []*pair
	live     map[string]any
	views    Views // nil: live and the new object are converted
}

func (e *Engine) pass(live map[string]any, now time.Time) *pass {
	p := e.passAt(now)
	p.live = live
	if !e.hasKind(live) {
		p.decline("an object of another version")
	}
	return p
}

func (e *Engine) passAt(now time.Time) *pass {
	p := &pass{Engine: e, now: now.UTC().Format("2006-01-02T15:04:05Z")}
	if !metadata.IsTime(p.now) {
		p.decline("a time that is not written as usual")
	}
	return p
}

func (p *pass) decline(why string) {
	if p.declined == "" {
		p.declined = why
	}
}

// declineAs declines the pass if a walk has declined.
func (p *pass) declineAs(w *walk) {
	if w.declined != "" {
		p.decline(w.declined)
	}
}

// hasKind reports whether an object has the engine's kind and version.
func (e *Engine) hasKind(obj map[string]any) bool {
	return obj["apiVersion"] == e.APIVersion && obj["kind"] == e.Kind
}

func (p *pass) tree(apiVersion string) *Tree {
	tree := p.Trees[apiVersion]
	if tree == nil {
		p.decline("a version without a schema")
	}
	return tree
}

// pairOf returns the pair of a version, with the live object in that version.
func (p *pass) pairOf(apiVersion string) *pair {
	for _, pair := range p.pairs {
		if pair.apiVersion == apiVersion {
			return pair
		}
	}
	out := &pair{apiVersion: apiVersion, live: p.live, tree: p.tree(apiVersion)}
	p.pairs = append(p.pairs, out)
	if apiVersion != p.APIVersion && out.tree != nil && p.views == nil {
		out.live = p.convert(p.live, apiVersion)
	}
	return out
}

func (p *pass) convert(obj map[string]any, apiVersion string) map[string]any {
	if p.declined != "" {
		return nil
	}
	converted, err := p.Convert(obj, apiVersion)
	if err != nil {
		p.decline("an object that cannot be converted")
	}
	if converted["apiVersion"] != apiVersion {
		p.decline("an object that cannot be converted")
	}
	return converted
}

// reconcile adapts the entries to the current schemas.
func (p *pass) reconcile(entries []*entry) []*entry {
	var out []*entry
	for i, e := range entries {
		in := p.pairOf(e.apiVersion)
		if p.declined != "" {
			return nil
		}
		if e.reconciled == in.tree {
			if out != nil {
				out = append(out, e)
			}
			continue
		}
		w := walk{tree: in.tree}
		set := w.reconcile(e.set)
		p.declineAs(&w)
		if out == nil {
			out = append(make([]*entry, 0, len(entries)+1), entries[:i]...)
		}
		changed := *e
		changed.reconciled = in.tree
		if set != e.set {
			changed.set = set
			changed.forget()
		}
		out = append(out, &changed)
	}
	if out == nil {
		return entries
	}
	return out
}

// compare compares the live object with the new one, in the version of the engine.
func (p *pass) compare(obj map[string]any) *pair {
	in := p.pairOf(p.APIVersion)
	if p.declined == "" {
		p.compareIn(in, obj)
	}
	return in
}

func (p *pass) compareIn(in *pair, obj map[string]any) {
	if p.views != nil {
		var err error
		if in.live, obj, err = p.views(in.apiVersion); err != nil {
			p.decline("an object that cannot be converted")
			return
		}
	}
	w := walk{tree: in.tree}
	in.obj = obj
	in.comparison = w.compare(in.live, obj)
	in.hollow = w.hollow
	p.declineAs(&w)
}

// applyReset applies Reset to a comparison.
func (p *pass) applyReset(in *pair) {
	in.comparison = in.comparison.filtered(p.Reset[in.apiVersion])
	in.changed = union(in.modified, in.added)
}

// versioned returns the comparison in the version of an entry.
func (p *pass) versioned(apiVersion string, obj map[string]any) *pair {
	in := p.pairOf(apiVersion)
	switch {
	case in.obj != nil || p.declined != "":
	case p.views != nil:
		p.compareIn(in, nil)
		p.applyReset(in)
	default:
		if to := p.convert(obj, apiVersion); p.declined == "" {
			p.compareIn(in, to)
			p.applyReset(in)
		}
	}
	return in
}

// with returns a copy of an entry with another set.
func (e *entry) with(set *Set) *entry {
	if set == e.set {
		return e
	}
	changed := *e
	changed.set = set
	changed.forget()
	return &changed
}

// withTime returns a copy of an entry with another time.
func (e *entry) withTime(time string) *entry {
	if time == e.time {
		return e
	}
	changed := *e
	changed.time, changed.tree, changed.listed = time, nil, nil
	return &changed
}
