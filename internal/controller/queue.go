package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// key identifies what a controller syncs: in most cases an object, by its namespace and name.
type key struct {
	// task distinguishes the keys of a controller that syncs different things; empty for most.
	task            string
	namespace, name string
}

// String returns the key for a report.
func (k key) String() string {
	if k.namespace == "" {
		return k.name
	}
	return k.namespace + "/" + k.name
}

// item is a key of a controller.
type item struct {
	controller *controller
	key        key
}

// queue has the keys to sync before a write returns. The writes of a sync add to the same queue, so that there is no
// recursion.
type queue struct {
	writer Writer // carries out the writes of the syncs
	items  []item
	queued map[item]bool // those in items
	// refused has the items that are not synced again before the write returns.
	refused map[item]bool
	// syncing is the item of the sync under way.
	syncing item
}

// add adds an item to the end of the queue, unless it is queued. The writes of a sync do not add its own item: otherwise
// the sync would never end if each of these writes differed from the one before, for example because admission changes
// them, or because they contain an error with a new text each time.
func (q *queue) add(i item) {
	if q.queued[i] || q.syncing == i && !i.controller.resyncs {
		return
	}
	if q.queued == nil {
		q.queued = map[item]bool{}
	}
	q.queued[i] = true
	q.items = append(q.items, i)
}

func (q *queue) refuse(i item) {
	if q.refused == nil {
		q.refused = map[item]bool{}
	}
	q.refused[i] = true
}

func (q *queue) next() item {
	next := q.items[0]
	q.items = q.items[1:]
	delete(q.queued, next)
	return next
}

// queueKey is the key of the queue in the context of a sync.
type queueKey struct{}

// Controllers are the controllers of a server.
type Controllers struct {
	server *Server
	list   []*controller // in the order of the table
	byName map[Name]*controller
	// following has the subscriptions to a resource, in the order of the table. Other resources have the subscriptions
	// in others.
	following map[schema.GroupResource][]subscription
	others    []subscription
	alarms    *alarms
}

// subscription is a controller that follows a kind.
type subscription struct {
	controller *controller
	follows    followed
}

// New returns the controllers of a server. Close stops them.
func New(s *Server, acting Acting) *Controllers {
	cs := &Controllers{server: s, byName: map[Name]*controller{}, following: map[schema.GroupResource][]subscription{}, alarms: newAlarms()}
	for _, r := range table {
		c := r.new()
		c.name = r.name
		c.idle.Store(!r.always && !acting[r.name])
		cs.add(c)
	}
	return cs
}

// Act starts further controllers. When it returns, they have synced the existing objects.
func (cs *Controllers) Act(ctx context.Context, w Writer, names Acting) error {
	q := &queue{writer: w}
	for _, c := range cs.list {
		idle, replaced := c.idle.Load(), c.replaced.Load()
		if !names[c.name] || !idle && !replaced {
			continue
		}
		c.idle.Store(false)
		c.replaced.Store(false)
		if err := cs.resume(ctx, q, c, cs.server.Records.Revision(), 0); err != nil {
			return err
		}
	}
	cs.work(ctx, q)
	return nil
}

// Replace pauses a controller, because a client acts in its place, until Act starts it again.
func (cs *Controllers) Replace(name Name) { cs.byName[name].replaced.Store(true) }

// rests reports whether the controller is idle or replaced.
func (c *controller) rests() bool { return c.idle.Load() || c.replaced.Load() }

// Acting returns the controllers of kube-controller-manager that act, including replaced ones.
func (cs *Controllers) Acting() Acting {
	acting := Acting{}
	for _, r := range table {
		if !r.always && cs.Acts(r.name) {
			acting[r.name] = true
		}
	}
	return acting
}

// Acts reports whether a controller acts or is replaced.
func (cs *Controllers) Acts(name Name) bool { return !cs.byName[name].idle.Load() }

// add adds a controller after the others.
func (cs *Controllers) add(c *controller) {
	cs.list = append(cs.list, c)
	cs.byName[c.name] = c
	for _, f := range c.follows {
		if resource := f.kind.resource(); f.kind != anyKind && cs.following[resource] == nil {
			cs.following[resource] = cs.others[:len(cs.others):len(cs.others)]
		}
	}
	for _, f := range c.follows {
		one := subscription{c, f}
		if f.kind != anyKind {
			cs.following[f.kind.resource()] = append(cs.following[f.kind.resource()], one)
			continue
		}
		cs.others = append(cs.others, one)
		for resource := range cs.following {
			cs.following[resource] = append(cs.following[resource], one)
		}
	}
}

// Close stops all alarms, and waits for those that run. Syncs after a commit stop before their next attempt; the next
// server over the same objects resumes them.
func (cs *Controllers) Close() { cs.alarms.close() }

// ended returns store.ErrClosed after Close.
func (cs *Controllers) ended() error {
	if cs.alarms.ctx.Err() != nil {
		return store.ErrClosed
	}
	return nil
}

// Inherit copies the state of the controllers of a fork's origin. The store was forked at the given revision.
func (cs *Controllers) Inherit(from *Controllers, revision int64) {
	for _, c := range cs.list {
		if former := from.byName[c.name]; c.inherit != nil && !c.idle.Load() && !former.idle.Load() {
			c.inherit(former, revision)
		}
	}
}

// Committed syncs the keys that a commit concerns. A commit of a sync adds to the queue of the sync's write.
func (cs *Controllers) Committed(ctx context.Context, w Writer, c write.Commit) {
	q, nested := ctx.Value(queueKey{}).(*queue)
	if !nested {
		q = &queue{writer: w}
	}
	cs.enqueue(ctx, q, c)
	if !nested {
		cs.work(ctx, q)
	}
}

// enqueue adds the keys that a commit concerns.
func (cs *Controllers) enqueue(ctx context.Context, q *queue, c write.Commit) {
	for _, i := range cs.alarms.overdue(cs.server.now) {
		q.add(i)
	}
	to, known := cs.following[c.Resource.GroupResource()]
	if !known {
		to = cs.others
	}
	s := &step{controllers: cs, server: cs.server, queue: q, ctx: ctx}
	changed := change{Commit: c, server: cs.server}
	for _, one := range to {
		if one.controller.rests() {
			continue
		}
		s.controller, changed.kind = one.controller, one.follows.kind
		err := one.follows.concerns(s, changed)
		if err != nil && !errors.Is(err, errNotServed) && !errors.Is(err, store.ErrClosed) {
			cs.server.Report(string(one.controller.name), c.Record.Key, err)
		}
	}
}

// Begin syncs the initial keys of all controllers in a new cluster.
func (cs *Controllers) Begin(ctx context.Context, w Writer) error {
	q := &queue{writer: w}
	for _, c := range cs.list {
		if c.rests() {
			continue
		}
		if err := c.begin(cs.step(ctx, q, c)); err != nil {
			return err
		}
	}
	cs.work(ctx, q)
	return nil
}

// Resume completes what another server over the same objects, or the origin of a fork, had begun. revision is that of
// the store at the start. The controllers have handled all commits up to the revision complete; 0: that is not known.
func (cs *Controllers) Resume(ctx context.Context, w Writer, revision, complete int64) error {
	q := &queue{writer: w}
	for _, c := range cs.list {
		if c.rests() {
			continue
		}
		if err := cs.resume(ctx, q, c, revision, complete); err != nil {
			return err
		}
	}
	cs.work(ctx, q)
	return nil
}

// resume enqueues the keys of a controller in a cluster that continues at a revision.
func (cs *Controllers) resume(ctx context.Context, q *queue, c *controller, revision, complete int64) error {
	s := cs.step(ctx, q, c)
	if err := c.begin(s); err != nil {
		return err
	}
	if c.resume != nil {
		if err := c.resume(s, revision); err != nil && !errors.Is(err, errNotServed) {
			return err
		}
	}
	if c.catchUp != nil && complete < revision {
		if err := c.catchUp(s, complete); err != nil && !errors.Is(err, errNotServed) {
			return err
		}
	}
	return nil
}

// Resync syncs the initial keys of a controller again, because something outside of the store has changed.
func (cs *Controllers) Resync(ctx context.Context, w Writer, name Name) {
	q := &queue{writer: w}
	if err := cs.byName[name].begin(cs.step(ctx, q, cs.byName[name])); err != nil {
		cs.server.Report(string(name), "", err)
		return
	}
	cs.work(ctx, q)
}

// Sync syncs an object by a controller.
func (cs *Controllers) Sync(ctx context.Context, w Writer, name Name, namespace, object string) {
	q := &queue{writer: w}
	q.add(item{cs.byName[name], key{namespace: namespace, name: object}})
	cs.work(ctx, q)
}

func (cs *Controllers) step(ctx context.Context, q *queue, c *controller) *step {
	return &step{controllers: cs, server: cs.server, queue: q, ctx: ctx, controller: c}
}

// work syncs all keys of a queue, and those that the syncs add.
func (cs *Controllers) work(ctx context.Context, q *queue) {
	if len(q.items) == 0 {
		return
	}
	cs.server.Activity.Begin()
	defer cs.server.Activity.End()
	ctx = context.WithValue(ctx, queueKey{}, q)
	for len(q.items) > 0 {
		next := q.next()
		if q.refused[next] || next.controller.rests() {
			continue
		}
		err := cs.sync(ctx, q, next)
		if errors.Is(err, store.ErrClosed) {
			return
		}
		if err != nil {
			cs.server.Report(string(next.controller.name), next.key.String(), err)
		}
	}
}

// errConflict is the error of a step if something that it has read has changed meanwhile. The step is repeated. A write
// that is rejected permanently has another error.
var errConflict = errors.New("another write came first")

// maxAttempts limits how often a sync is repeated while other writers are faster. It ends a sync that never succeeds
// because a webhook of its own write changes the same object each time.
const maxAttempts = 1_000

// sync syncs one key. It repeats the step when another writer was faster.
func (cs *Controllers) sync(ctx context.Context, q *queue, i item) error {
	q.syncing = i
	defer func() { q.syncing = item{} }()
	for range maxAttempts {
		if err := cs.ended(); err != nil {
			return err
		}
		s := cs.step(ctx, q, i.controller)
		s.key = i.key
		err := i.controller.sync(s, i.key)
		if errors.Is(err, errNotServed) {
			err = nil
		}
		switch {
		case errors.Is(err, errConflict):
			continue
		case apierrors.IsNotFound(err):
			return nil // the object is gone, so there is nothing left to do
		case err == nil && !s.again.IsZero():
			cs.syncAt(q.writer, i, s.again)
		}
		return err
	}
	return fmt.Errorf("another write came first in each of %d attempts", maxAttempts)
}

// syncAt sets an alarm that syncs a key at a later time.
func (cs *Controllers) syncAt(w Writer, i item, due time.Time) {
	cs.alarms.set(i, cs.server.now(), due, func(ctx context.Context) {
		q := &queue{writer: w}
		q.add(i)
		cs.work(ctx, q)
	})
}
