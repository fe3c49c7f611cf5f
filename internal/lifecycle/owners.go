package lifecycle

import (
	"maps"
	"slices"

	"k8s.io/klog/v2"
)

// noteOwnership adds the tasks that follow from a change for owners and their dependents.
func (r *Reactor) noteOwnership(list *tasks, c Change) {
	if r.graph == nil {
		return
	}
	r.graph.mu.Lock()
	defer r.graph.mu.Unlock()
	if err := r.graph.follow(r.server, c.Record.Revision); err != nil {
		klog.ErrorS(err, "Garbage cannot be collected", "after", c.Record.Revision)
		return
	}
	r.graph.note(list, c)
	if c.Resource == r.server.Definitions() && !c.Deleted {
		// A reference may name a kind that is served only from now on.
		r.graph.listDue(list)
	}
}

// note adds the tasks that follow from a change that the graph has read.
func (g *graph) note(list *tasks, c Change) {
	key := c.Record.Key
	if d, ok := g.due[key]; ok {
		list.add(d.kind, key)
	}
	if len(g.waiting) > 0 {
		g.noteWaiting(list, c)
	}
	if !c.Deleted && (len(g.waiting) == 0 || !isDeleting(c.Record.Value)) {
		return // even if it is being deleted, it does not wait for the collector
	}
	if c.Deleted && g.edges.Len() == 0 {
		return
	}
	switch o := ownershipOf(c.Record.Value); {
	case c.Deleted:
		list.add(collectGarbage, g.dependents(o.uid, blocking, leaving)...)
	case o.orphansDependents():
		list.add(collectGarbage, key)
	case o.deletesDependents():
		list.add(collectGarbage, g.dependents(o.uid, blocking, free)...)
		list.add(collectGarbage, key)
	}
}

// noteWaiting adds the owners that wait for their dependents and may have one fewer now.
func (g *graph) noteWaiting(list *tasks, c Change) {
	was, is := ownersIn(c.Previous.Value), ""
	if !c.Deleted {
		is = ownersIn(c.Record.Value)
	}
	if was == is {
		return
	}
	for _, owner := range ownerReferences(was) {
		if key, ok := g.waiting[string(owner.UID)]; ok {
			list.add(collectGarbage, key)
		}
	}
}

func (g *graph) listDue(list *tasks) {
	for _, key := range slices.Sorted(maps.Keys(g.due)) {
		list.add(g.due[key].kind, key)
	}
}

// resume adds what was left to do at a revision.
func (g *graph) resume(s Objects, list *tasks, revision int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.follow(s, revision); err != nil {
		return err
	}
	g.listDue(list)
	for _, uid := range slices.Sorted(maps.Keys(g.gone)) {
		list.add(collectGarbage, g.dependents(uid, blocking, leaving)...)
	}
	for _, uid := range slices.Sorted(maps.Keys(g.waiting)) {
		list.add(collectGarbage, g.dependents(uid, blocking, free)...)
		list.add(collectGarbage, g.waiting[uid])
	}
	return nil
}
