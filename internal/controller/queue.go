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

// key is what a controller syncs: in most cases an object, by its namespace and name.
type key struct {
	// of distinguishes the keys of a controller that syncs different things; empty for most.
	task            string
	namespace, name string
}

// String is the key in a report.
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

// queue has the keys that are to be synced before a write returns. The writes of a sync add to the same queue,
// so that nothing is done recursively.
type queue struct {
	items  []item
	queued map[item]bool // those in items
	// refused are not to be synced again before the write returns.
	refused map[item]bool
	// syncing is the item of the sync under way.
	syncing item
}

// add adds an item to the end of the queue, unless it is queued already. The writes of a sync do not add its own
// item: otherwise the sync would not come to an end if each of these writes differed from the one before,
// because admission changes them or because they report an error whose text is never the same.
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
	// following has, by resource, what follows its changes, in the order of the table; the resources that are not in it
	// are followed by others only.
	following map[schema.GroupResource][]subscription
	others    []subscription
	alarms    *alarms
}

// subscription is a controller that follows a kind.
type subscription struct {
	controller *controller
	follows    followed
}

// New makes the controllers of a server. Close ends them.
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

// Act has further controllers act from now on. When it returns, they have synced what there is.
func (cs *Controllers) Act(ctx context.Context, names Acting) error {
	q := &queue{}
	for _, c := range cs.list {
		idle, replaced := c.idle.Load(), c.replaced.Load()
		if !names[c.name] || !idle && !replaced {
			continue
		}
		c.idle.Store(false)
		c.replaced.Store(false)
		if err := cs.resume(ctx, q, c, cs.server.Records.Revision()); err != nil {
			return err
		}
	}
	cs.work(ctx, q)
	return nil
}

// Replace makes a controller pause, because a client acts in its place, until Act names it.
func (cs *Controllers) Replace(name Name) { cs.byName[name].replaced.Store(true) }

// rests reports whether the controller does nothing now.
func (c *controller) rests() bool { return c.idle.Load() || c.replaced.Load() }

// Acting returns the controllers of kube-controller-manager that act, also those that are replaced.
func (cs *Controllers) Acting() Acting {
	acting := Acting{}
	for _, r := range table {
		if !r.always && cs.Acts(r.name) {
			acting[r.name] = true
		}
	}
	return acting
}

// Acts reports whether a controller acts.
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

// Close ends what the controllers do on their own when time has passed, and waits for what they are
// doing. Syncs that follow a commit end before their next attempt: the next server over the same objects
// resumes them.
func (cs *Controllers) Close() { cs.alarms.close() }

// ended returns store.ErrClosed after Close.
func (cs *Controllers) ended() error {
	if cs.alarms.ctx.Err() != nil {
		return store.ErrClosed
	}
	return nil
}

// Inherit copies what other controllers have seen. The store was forked from that of the others, at the given
// revision.
func (cs *Controllers) Inherit(from *Controllers, revision int64) {
	for _, c := range cs.list {
		if former := from.byName[c.name]; c.inherit != nil && !c.idle.Load() && !former.idle.Load() {
			c.inherit(former, revision)
		}
	}
}

// Committed does what follows a commit. A commit of a sync adds to the queue of the write that the sync belongs
// to.
func (cs *Controllers) Committed(ctx context.Context, c write.Commit) {
	q, nested := ctx.Value(queueKey{}).(*queue)
	if !nested {
		q = &queue{}
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

// Begin syncs what controllers have to sync in a new cluster.
func (cs *Controllers) Begin(ctx context.Context) error {
	q := &queue{}
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

// Resume completes what another server over the same objects, or one from which the store was forked at a revision,
// had begun.
func (cs *Controllers) Resume(ctx context.Context, revision int64) error {
	q := &queue{}
	for _, c := range cs.list {
		if c.rests() {
			continue
		}
		if err := cs.resume(ctx, q, c, revision); err != nil {
			return err
		}
	}
	cs.work(ctx, q)
	return nil
}

// resume enqueues what a controller has to sync in a cluster that was at a revision.
func (cs *Controllers) resume(ctx context.Context, q *queue, c *controller, revision int64) error {
	s := cs.step(ctx, q, c)
	if err := c.begin(s); err != nil || c.resume == nil {
		return err
	}
	if err := c.resume(s, revision); err != nil && !errors.Is(err, errNotServed) {
		return err
	}
	return nil
}

// Resync has a controller begin once more, because something has changed that is not in the store.
func (cs *Controllers) Resync(ctx context.Context, name Name) {
	q := &queue{}
	if err := cs.byName[name].begin(cs.step(ctx, q, cs.byName[name])); err != nil {
		cs.server.Report(string(name), "", err)
		return
	}
	cs.work(ctx, q)
}

// Sync has a controller sync an object.
func (cs *Controllers) Sync(ctx context.Context, name Name, namespace, object string) {
	q := &queue{}
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

// errConflict is the error of a step that has read something which has changed meanwhile. The step is taken
// again. A write that is refused for good has another error.
var errConflict = errors.New("another write came first")

// maxAttempts is how often a key is synced while other writers are faster. It ends a sync that never
// succeeds, because a hook of its own write, such as a webhook, changes the same object each time.
const maxAttempts = 1_000

// sync syncs one key. It starts over when another writer was faster.
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
			cs.syncAt(i, s.again)
		}
		return err
	}
	return fmt.Errorf("another write came first in each of %d attempts", maxAttempts)
}

// syncAt sets an alarm that syncs a key at a later time.
func (cs *Controllers) syncAt(i item, due time.Time) {
	cs.alarms.set(i, cs.server.now(), due, func(ctx context.Context) {
		q := &queue{}
		q.add(i)
		cs.work(ctx, q)
	})
}
