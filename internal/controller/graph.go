package controller

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/btree"
	"github.com/tidwall/gjson"

	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// graph has the owner references of all objects, and the objects that the garbage collector has to process. It reads
// every event of the store's history once and in order, so it is consistent with the store for any number of writers.
// After each commit it reads the new events, before the collector uses it.
//
// Under its lock, the graph takes the read locks of the store and no others. It does not write or wait.
type graph struct {
	mu     sync.Mutex
	cursor *store.Cursor // nil: read all objects first
	read   int64         // the revision that the last cursor reached; 0: none
	copied bool          // the last cursor belonged to the graph of the origin
	looked int64         // the newest revision by which the collector has evaluated a dependent

	edges *btree.BTreeG[edge]
	// gone has the deleted owners that still have dependents, by uid.
	gone map[string]goneOwner
	// waiting has, by uid, the keys of objects that wait for the collector to remove its
	// finalizer.
	waiting map[string]string
	// due has the dependents that the collector has to process, by key, because their references have changed or its
	// last attempt was rejected.
	due map[string]due
}

// edge is a reference from the object with a store key to the owner with a uid.
type edge struct {
	owner     string
	state     state
	dependent string
}

// state is the effect of a dependent on the deletion of its owner. Dependents are sorted by state.
type state byte

const (
	blocking      state = iota // it blocks the owner's deletion
	free                       // it does not block
	leavingBlocks              // it blocks, and is being deleted itself
	leaving                    // it does not block, and is being deleted
)

// goneOwner is an owner that was deleted at a revision.
type goneOwner struct {
	namespace string
	revision  int64
}

type due struct {
	task     string // of the key: verifyOwners, or empty
	revision int64  // of the dependent to process
}

// stored reads the store for the graph.
type stored interface {
	everything() (store.List, error)
	watch(after int64) (*store.Cursor, error)
	oldest() int64
	// ignored reports whether the garbage collector ignores the object with a key.
	ignored(key string) bool
}

func newGraph() *graph {
	return &graph{edges: newEdges(), gone: map[string]goneOwner{}, waiting: map[string]string{}, due: map[string]due{}}
}

func newEdges() *btree.BTreeG[edge] {
	return btree.NewBTreeGOptions(func(a, b edge) bool {
		return cmp.Or(strings.Compare(a.owner, b.owner), cmp.Compare(a.state, b.state), strings.Compare(a.dependent, b.dependent)) < 0
	}, btree.Options{NoLocks: true})
}

// copy returns a graph for a fork of the store at a revision. The copy has only the owners that were gone by then, and
// reads all objects first, if g has read beyond that revision, or if the collector has evaluated dependents by newer
// objects: a dependent that has since been changed or deleted is no longer due in g, but still is in the fork.
func (g *graph) copy(revision int64) *graph {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cursor == nil || max(g.cursor.Revision(), g.looked) > revision {
		fresh := newGraph()
		for uid, owner := range g.gone {
			if owner.revision <= revision {
				fresh.gone[uid] = owner
			}
		}
		return fresh
	}
	return &graph{
		read: g.cursor.Revision(), copied: true,
		edges: g.edges.Copy(), gone: maps.Clone(g.gone), waiting: maps.Clone(g.waiting), due: maps.Clone(g.due),
	}
}

// follow reads the events up to a revision.
func (g *graph) follow(s stored, revision int64) error {
	for g.cursor == nil || g.cursor.Revision() < revision {
		if g.cursor == nil {
			if err := g.begin(s); err != nil {
				return err
			}
			continue
		}
		events, err := g.cursor.Poll()
		if outOfReach(err) {
			g.read, g.cursor = g.cursor.Revision(), nil
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range events {
			g.apply(s, e)
		}
	}
	return nil
}

func outOfReach(err error) bool {
	var compacted *store.CompactedError
	return errors.As(err, &compacted)
}

// begin continues at the revision where the graph was copied, or reads all objects if the history does not reach back
// that far. Objects that other writers change meanwhile become due by their commits. A copy has no other writers, so all
// of these objects are due. So are those with an owner that does not exist: the event of its deletion may be among those
// that were not read. If the history still has that event, the graph takes it from there, because the kind of the owner
// may be gone too.
func (g *graph) begin(s stored) (err error) {
	if g.copied {
		g.copied = false
		if g.cursor, err = s.watch(g.read); !outOfReach(err) {
			return err
		}
		g.read = 0
	}
	records, err := s.everything()
	if err != nil {
		return err
	}
	former, present := g.due, uidsOf(records.Records)
	g.edges, g.waiting, g.due = newEdges(), map[string]string{}, map[string]due{}
	missing := map[string]bool{} // uids of owners
	for _, record := range records.Records {
		g.wait(record, false)
		owners := ownersIn(record.Value)
		if owners == "" || s.ignored(record.Key) {
			continue
		}
		g.link(s, record, owners)
		d, ok := former[record.Key]
		if !ok {
			d.task = verifyOwners
		}
		dangles := false
		for _, e := range edgesOf(record, owners) {
			if !present[e.owner] {
				dangles, missing[e.owner] = true, true
			}
		}
		if ok || dangles || record.Revision > g.read {
			g.due[record.Key] = due{d.task, max(d.revision, record.Revision)}
		}
	}
	for uid := range g.gone {
		g.forget(uid)
	}
	if err := g.readDeletions(s, missing); err != nil {
		return err
	}
	g.read = records.Revision
	if g.cursor, err = s.watch(g.read); outOfReach(err) {
		return nil // compacted meanwhile: read all objects again
	}
	return err
}

// readDeletions reads the history of the store for the deletion of missing owners.
func (g *graph) readDeletions(s stored, missing map[string]bool) error {
	if len(missing) == 0 {
		return nil
	}
	cursor, err := s.watch(s.oldest())
	for err == nil {
		var events []*store.Event
		if events, err = cursor.Poll(); len(events) == 0 {
			break
		}
		for _, e := range events {
			if e.Type == store.Deleted && missing[gjson.Get(e.Record.Value, "metadata.uid").Str] {
				g.bury(e.Record, ownershipOf(e.Record.Value))
			}
		}
	}
	if outOfReach(err) {
		return g.readDeletions(s, missing) // the history has become shorter meanwhile
	}
	return err
}

// bury records that an owner with dependents was deleted.
func (g *graph) bury(r store.Record, o ownership) {
	g.gone[strings.Clone(o.uid)] = goneOwner{strings.Clone(o.namespace), r.Revision}
}

// uidsOf returns the uids of objects.
func uidsOf(records []store.Record) map[string]bool {
	uids := make(map[string]bool, len(records))
	for _, r := range records {
		uids[gjson.Get(r.Value, "metadata.uid").Str] = true
	}
	return uids
}

func (g *graph) apply(s stored, e *store.Event) {
	deleted := e.Type == store.Deleted
	before, after := "", ""
	if g.edges.Len() > 0 {
		before = ownersIn(e.Previous.Value)
	}
	if !deleted {
		after = ownersIn(e.Record.Value)
	}
	if before != "" {
		g.unlink(*e.Previous, before)
	}
	if after != "" {
		g.link(s, e.Record, after)
	}
	if before != "" && before != after && len(g.gone) > 0 {
		for _, former := range edgesOf(*e.Previous, before) {
			g.forget(former.owner)
		}
	}
	switch {
	case after == "":
		delete(g.due, e.Record.Key)
	case after != before && !s.ignored(e.Record.Key):
		g.due[e.Record.Key] = due{verifyOwners, e.Record.Revision}
	}
	g.wait(e.Record, deleted)
	if !deleted || g.edges.Len() == 0 {
		return
	}
	if uid := gjson.Get(e.Record.Value, "metadata.uid").Str; g.has(uid, blocking, leaving) {
		g.bury(e.Record, ownershipOf(e.Record.Value))
	}
}

// link adds the edges from an object to its owners.
func (g *graph) link(s stored, r store.Record, owners string) {
	if owners == "" || s.ignored(r.Key) {
		return
	}
	for _, e := range edgesOf(r, owners) {
		e.owner = strings.Clone(e.owner) // does not keep the whole text of the object in memory
		g.edges.Set(e)
	}
}

// unlink removes the edges of an object.
func (g *graph) unlink(r store.Record, owners string) {
	if owners == "" {
		return
	}
	for _, e := range edgesOf(r, owners) {
		g.edges.Delete(e)
	}
}

// forget removes a deleted owner without dependents.
func (g *graph) forget(owner string) {
	if !g.has(owner, blocking, leaving) {
		delete(g.gone, owner)
	}
}

// edgesOf returns the edges of an object, one for each owner.
func edgesOf(r store.Record, owners string) []edge {
	var edges []edge
	from, fromBlocking := free, blocking
	if isDeleting(r.Value) {
		from, fromBlocking = leaving, leavingBlocks
	}
	gjson.Parse(owners).ForEach(func(_, owner gjson.Result) bool {
		e := edge{owner: owner.Get("uid").Str, state: from, dependent: r.Key}
		if owner.Get("blockOwnerDeletion").Bool() {
			e.state = fromBlocking
		}
		// With two references to an owner, one that blocks is enough.
		if i := slices.IndexFunc(edges, func(other edge) bool { return other.owner == e.owner }); i >= 0 {
			edges[i].state = min(edges[i].state, e.state)
			return true
		}
		edges = append(edges, e)
		return true
	})
	return edges
}

// wait records whether an object waits for the collector.
func (g *graph) wait(r store.Record, deleted bool) {
	if !isDeleting(r.Value) {
		return
	}
	o := ownershipOf(r.Value)
	if !deleted && (o.deletesDependents() || o.orphansDependents()) {
		g.waiting[strings.Clone(o.uid)] = r.Key
	} else {
		delete(g.waiting, o.uid)
	}
}

// has reports whether an owner has dependents in one of the states.
func (g *graph) has(owner string, from, to state) bool {
	found := false
	g.edges.Ascend(edge{owner: owner, state: from}, func(e edge) bool {
		found = e.owner == owner && e.state <= to
		return false
	})
	return found
}

// dependents returns the keys of an owner's dependents in some states, in order.
func (g *graph) dependents(owner string, from, to state) []string {
	var keys []string
	g.edges.Ascend(edge{owner: owner, state: from}, func(e edge) bool {
		if e.owner != owner || e.state > to {
			return false
		}
		keys = append(keys, e.dependent)
		return true
	})
	return keys
}

// isGone reports whether an owner with dependents has been deleted, and in which namespace it
// was.
func (g *graph) isGone(uid string) (namespace string, gone bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	owner, gone := g.gone[uid]
	return owner.namespace, gone
}

// dependentsOf returns the keys of all dependents of an owner.
func (g *graph) dependentsOf(uid string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dependents(uid, blocking, leaving)
}

// blockingDependentsOf returns the dependents that block an owner's deletion and are not being
// deleted yet, and whether any dependent blocks it.
func (g *graph) blockingDependentsOf(uid string) (remaining []string, blocked bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	remaining = g.dependents(uid, blocking, blocking)
	return remaining, len(remaining) > 0 || g.has(uid, leavingBlocks, leavingBlocks)
}

// done records that the collector has processed a dependent at a revision. Everything that it has read is not newer than
// the revision now.
func (g *graph) done(key string, revision, now int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d, ok := g.due[key]; ok && d.revision <= revision {
		delete(g.due, key)
		g.looked = max(g.looked, now)
	}
}

// postpone records that a dependent could not be deleted. Its next write tries again.
func (g *graph) postpone(key string, revision int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.due[key] = due{"", revision}
}

// enqueue adds the keys that a commit concerns. The graph must have read the commit.
func (g *graph) enqueue(add func(key), c write.Commit) {
	stored := c.Record.Key
	if d, ok := g.due[stored]; ok {
		add(key{task: d.task, name: stored})
	}
	if len(g.waiting) > 0 {
		g.enqueueWaiting(add, c)
	}
	if !c.Deleted && (len(g.waiting) == 0 || !isDeleting(c.Record.Value)) {
		return // it does not wait for the collector even if it is being deleted
	}
	if c.Deleted && g.edges.Len() == 0 {
		return
	}
	switch o := ownershipOf(c.Record.Value); {
	case c.Deleted:
		dependents := g.dependents(o.uid, blocking, leaving)
		if len(dependents) > 0 { // the history may have forgotten the deletion before the graph read it
			g.bury(c.Record, o)
		}
		addAll(add, dependents)
	case o.orphansDependents():
		add(key{name: stored})
	case o.deletesDependents():
		addAll(add, g.dependents(o.uid, blocking, free))
		add(key{name: stored})
	}
}

// enqueueWaiting adds the owners that wait for their dependents and may have one fewer now.
func (g *graph) enqueueWaiting(add func(key), c write.Commit) {
	before, after := ownersIn(c.Previous.Value), ""
	if !c.Deleted {
		after = ownersIn(c.Record.Value)
	}
	if before == after {
		return
	}
	for _, owner := range ownerReferences(before) {
		if stored, ok := g.waiting[string(owner.UID)]; ok {
			add(key{name: stored})
		}
	}
}

func (g *graph) enqueueDue(add func(key)) {
	for _, stored := range slices.Sorted(maps.Keys(g.due)) {
		add(key{task: g.due[stored].task, name: stored})
	}
}

// resume adds the keys that were left at a revision.
func (g *graph) resume(s stored, add func(key), revision int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.follow(s, revision); err != nil {
		return err
	}
	g.enqueueDue(add)
	for _, uid := range slices.Sorted(maps.Keys(g.gone)) {
		addAll(add, g.dependents(uid, blocking, leaving))
	}
	for _, uid := range slices.Sorted(maps.Keys(g.waiting)) {
		addAll(add, g.dependents(uid, blocking, free))
		add(key{name: g.waiting[uid]})
	}
	return nil
}

func addAll(add func(key), stored []string) {
	for _, one := range stored {
		add(key{name: one})
	}
}
