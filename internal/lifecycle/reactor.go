package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// Change is what a commit changed.
type Change = write.Commit

// Server is what a Reactor needs of the server.
type Server interface {
	// Catalogue returns the catalogue of the definitions that are in the store now.
	Catalogue() (*resource.Catalogue, error)
	// Namespaces and Definitions are the built-in resources that have a
	// lifecycle.
	Namespaces() *resource.Resource
	Definitions() *resource.Resource

	Now() metav1.Time
	// Revision returns the revision of the newest write.
	Revision() int64

	// Get reads an object as its strategy sees it. The caller may change the object.
	Get(ctx context.Context, r *resource.Resource, namespace, name string) (runtime.Object, store.Record, error)
	// List reads the objects of a namespace, or of all namespaces for the empty name.
	List(r *resource.Resource, namespace string) ([]store.Record, error)
	// Readable tells why some of the records of a resource cannot be listed in its storage version.
	Readable(r *resource.Resource, records []store.Record) error
	// Update writes an object, or a subresource of it, through the pipeline. It fails
	// with ErrConflict if the object has changed since the record, or if a precondition
	// does not hold. The caller must not use the object afterwards.
	Update(ctx context.Context, r *resource.Resource, subresource string, was store.Record, obj runtime.Object, require ...store.Precondition) error
	// ApplyStatus applies a status to the object of a record, for a manager. The given
	// object contains nothing but the status and what identifies it. It fails as Update.
	ApplyStatus(ctx context.Context, r *resource.Resource, was store.Record, status *unstructured.Unstructured, manager string) error
	// Rewrite writes an object through the pipeline unchanged, which stores it in the
	// storage version. If the object has changed since the record, the error is a conflict.
	Rewrite(ctx context.Context, r *resource.Resource, record store.Record) error
	// DeleteContent deletes an object of a namespace that is being emptied. Admission sees
	// it as the namespace controller's delete of the whole collection.
	DeleteContent(ctx context.Context, r *resource.Resource, namespace, name string) error
	// DeleteInstance deletes an object of a definition that is being deleted. Admission
	// does not see it, because a real server deletes such objects from the storage.
	DeleteInstance(ctx context.Context, r *resource.Resource, namespace, name string) error
	// Create creates an object. It fails with ErrConflict if there is one of that name.
	Create(ctx context.Context, r *resource.Resource, obj runtime.Object) error
	// Delete deletes the object of a record. It fails with ErrConflict if the object has
	// changed since.
	Delete(ctx context.Context, r *resource.Resource, was store.Record) error

	// Available asks the server that an APIService points to whether it is there.
	Available(ctx context.Context, a *apiregistrationv1.APIService) apiregistrationv1.APIServiceCondition
	// APIServicesOf are the names of the APIServices that point to a service.
	APIServicesOf(namespace, service string) []string

	// Amend changes the metadata of the object of a record, and Collect deletes it, both
	// as the garbage collector. They fail with ErrConflict if the object has changed since
	// the record.
	Amend(ctx context.Context, r *resource.Resource, was store.Record, change func(metav1.Object)) error
	Collect(ctx context.Context, r *resource.Resource, was store.Record, policy metav1.DeletionPropagation) error

	// Quotas are the ResourceQuotas.
	Quotas() *resource.Resource
	// Quota measures them.
	Quota() Measurer

	// Tell says that a reaction has failed, about an object or what else its name says. The
	// next related write tries again.
	Tell(reaction, name string, err error)

	Objects
}

// Measurer is what the controller of quotas calls: a [quota.Quotas].
type Measurer interface {
	Measure(rq *corev1.ResourceQuota) (changed bool, again time.Time, err error)
	MarkExact(of store.Record)
	IsExact(of store.Record) bool
	Forget(key string)
	Later(c write.Commit) (keys []string, at time.Time)
	Affected(c write.Commit) ([]string, error)
}

// Objects are the records of all resources.
type Objects interface {
	// Read, All and Watch are the store's Get, List and Watch.
	Read(key string) (store.Record, error)
	All() (store.List, error)
	Watch(after int64) (*store.Cursor, error)
	// Ignores tells whether the garbage collector leaves the object of a key alone.
	Ignores(key string) bool
}

// ErrConflict is the error of a write whose object another writer has changed. The step reads
// the object again and starts over. A write that is refused for good has another error.
var ErrConflict = errors.New("another write came first")

// Reactor reacts to commits.
type Reactor struct {
	server Server
	acting Controllers
	graph  *graph // nil: nothing is collected
	// keepers are further controllers that act, and alarms call them when time has passed.
	keepers keepers
	alarms  *alarms
}

// NewReactor makes the reactor of a server. The controllers are those that act, as do all of
// the keepers. Close ends it.
func NewReactor(s Server, acting Controllers, further ...Keeper) *Reactor {
	r := &Reactor{server: s, acting: acting, keepers: newKeepers(further), alarms: newAlarms()}
	if acting[GarbageCollector] {
		r.graph = newGraph()
	}
	return r
}

// Close ends what the reactor does on its own when time has passed, and waits for what it is
// doing. Reactions to commits end before their next step: the next server over the same objects
// resumes them.
func (r *Reactor) Close() { r.alarms.close() }

// ended returns store.ErrClosed once the reactor is closed.
func (r *Reactor) ended() error {
	if r.alarms.ctx.Err() != nil {
		return store.ErrClosed
	}
	return nil
}

// Inherit copies what another reactor knows. The store of r was forked from that of the other
// reactor, at the given revision.
func (r *Reactor) Inherit(from *Reactor, revision int64) {
	if r.graph != nil && from.graph != nil {
		r.graph = from.graph.copy(revision)
	}
}

// task is one thing to do: its kind, and the name of the definition, group or namespace, or
// the key of the object, that it is about.
type task struct {
	kind string
	name string
}

const (
	judgeDefinition  = "judge definition"
	judgeContested   = "judge contested definitions of group"
	finishDefinition = "finish deletion of definition"
	finishNamespace  = "finish deletion of namespace"
	migrateResource  = "migrate storage version"
	retryMigration   = "retry migrations of definition"
	checkPolicy      = "check types of policy"
	verifyOwners     = "verify owners"
	collectGarbage   = "collect garbage"
	registerVersion  = "register version of definitions"
	judgeAPIService  = "judge availability of APIService"
	measureQuota     = "measure use of quota"
)

// tasks is the list of what is left to do in one call of React. Writes that a task makes add
// to the same list.
type tasks struct {
	left   []task
	listed map[task]bool // those left
	// refused are those of the garbage collector that are not to be tried again
	// in this React.
	refused map[task]bool
	// catalogue is a recent one, for the garbage collector to look up kinds; nil:
	// it is to be read.
	catalogue *resource.Catalogue
	// own is a task whose own write does not make it necessary again. doing is the one that is being done.
	own, doing task
}

func (t *tasks) add(kind string, names ...string) {
	for _, name := range names {
		next := task{kind, name}
		if t.listed[next] || t.own == next {
			continue
		}
		if t.listed == nil {
			t.listed = map[task]bool{}
		}
		t.listed[next] = true
		t.left = append(t.left, next)
	}
}

// refuse says that a task has been refused.
func (t *tasks) refuse(refused task) {
	if t.refused == nil {
		t.refused = map[task]bool{}
	}
	t.refused[refused] = true
}

func (t *tasks) next() task {
	next := t.left[0]
	t.left = t.left[1:]
	delete(t.listed, next)
	return next
}

type tasksKey struct{}

// React does what follows a change. The changes that it makes itself add to the
// list of the React that is under way, so that nothing is done recursively.
func (r *Reactor) React(ctx context.Context, c Change) {
	list, nested := ctx.Value(tasksKey{}).(*tasks)
	if !nested {
		list = &tasks{}
	}
	r.note(list, c)
	if !nested {
		r.work(ctx, list)
	}
}

// Resume completes what another server, from which the state of this one was forked at a
// revision, had begun: all definitions, namespaces, migrations and policies that wait for
// something, and garbage. The keepers look at all that there is.
func (r *Reactor) Resume(ctx context.Context, revision int64) error {
	catalogue, err := r.server.Catalogue()
	if err != nil {
		return err
	}
	list := &tasks{}
	for _, d := range catalogue.Definitions("*") {
		if d.Contested {
			list.add(judgeDefinition, d.Name)
		}
		if d.Terminating {
			list.add(finishDefinition, d.Name)
		}
	}
	if err := r.resumeAPIServices(list, catalogue); err != nil {
		return err
	}
	if r.acting[NamespaceController] {
		namespaces, err := r.server.List(r.server.Namespaces(), "")
		if err != nil {
			return err
		}
		for _, ns := range namespaces {
			if isTerminating(ns.Value) {
				list.add(finishNamespace, r.server.Namespaces().NameOf(ns.Key))
			}
		}
	}
	if r.acting[StorageVersionMigrator] {
		under := catalogue.Resource(storagemigrationv1.GroupName, migrations)
		records, err := r.server.List(under, "")
		if err != nil {
			return err
		}
		for _, m := range records {
			list.add(migrateResource, under.NameOf(m.Key))
		}
	}
	if r.acting[PolicyStatusController] {
		if err := r.resumePolicies(list, catalogue); err != nil {
			return err
		}
	}
	if r.acting[ResourceQuotaController] {
		quotas, err := r.server.List(r.server.Quotas(), "")
		if err != nil {
			return err
		}
		for _, q := range quotas {
			list.add(measureQuota, q.Key)
		}
	}
	if r.graph != nil {
		if err := r.graph.resume(r.server, list, revision); err != nil {
			return err
		}
	}
	if err := r.resumeKeepers(list); err != nil {
		return err
	}
	r.work(ctx, list)
	return nil
}

// work does all tasks of a list, and those that they add.
func (r *Reactor) work(ctx context.Context, list *tasks) {
	ctx = context.WithValue(ctx, tasksKey{}, list)
	for len(list.left) > 0 {
		next := list.next()
		if list.refused[next] {
			continue
		}
		list.doing = next
		err := r.do(ctx, list, next)
		if errors.Is(err, store.ErrClosed) {
			return
		}
		if err != nil {
			r.server.Tell(next.kind, next.name, err)
		}
	}
}

// note adds the tasks that follow from a change.
func (r *Reactor) note(list *tasks, c Change) {
	for _, t := range r.alarms.overdue(func() time.Time { return r.server.Now().Time }) {
		list.add(t.kind, t.name)
	}
	r.noteLifecycle(list, c)
	r.noteAPIServices(list, c)
	r.noteOwnership(list, c)
	r.noteQuotas(list, c)
	r.noteKeepers(list, c)
}

// noteLifecycle adds the tasks for definitions, namespaces, policies and migrations.
func (r *Reactor) noteLifecycle(list *tasks, c Change) {
	switch {
	case c.Resource == r.server.Definitions():
		if c.Deleted {
			list.add(judgeContested, groupOf(c.Record.Value))
			return
		}
		list.add(judgeDefinition, c.Name)
		if isTerminating(c.Record.Value) {
			list.add(finishDefinition, c.Name)
		}
		if r.acting[StorageVersionMigrator] && isMigrating(c.Previous.Value) && isMigrating(c.Record.Value) {
			list.add(retryMigration, c.Name)
		}
		list.add(migrateResource, r.alarms.of(migrateResource)...) // they wait for a definition
	case c.Resource == r.server.Namespaces():
		if r.acting[NamespaceController] && !c.Deleted && isTerminating(c.Record.Value) {
			list.add(finishNamespace, c.Name)
		}
	case isPolicy(c.Resource):
		if r.acting[PolicyStatusController] && !c.Deleted && isUnobserved(c.Record.Value) {
			list.add(checkPolicy, c.Name)
		}
	case isMigration(c.Resource):
		if r.acting[StorageVersionMigrator] {
			noteMigration(list, c)
		}
	case c.Deleted:
		if c.Resource.Terminating {
			list.add(finishDefinition, c.Resource.Definition.Key[len(r.server.Definitions().Prefix):])
		}
		if r.acting[NamespaceController] && c.Namespace != "" && r.namespaceTerminates(c.Namespace) {
			list.add(finishNamespace, c.Namespace)
		}
	}
}

// alone does a task whose own writes are no reason to do it again. Otherwise it would not come to
// an end if each of these writes differed from the one before: if admission changes them, or if
// they tell of an error whose text is never the same.
func (r *Reactor) alone(list *tasks, t task, do func() error) error {
	list.own = t
	defer func() { list.own = task{} }()
	return do()
}

// maxAttempts is how often a task is tried while other writers are faster. It ends a task that never
// succeeds, because a hook of its own write, such as a webhook, changes the same object each time.
const maxAttempts = 1_000

// do does one task. It starts over when another writer was faster.
func (r *Reactor) do(ctx context.Context, list *tasks, t task) error {
	for range maxAttempts {
		if err := r.ended(); err != nil {
			return err
		}
		var err error
		switch t.kind {
		case judgeDefinition:
			err = r.judgeDefinition(ctx, t.name)
		case judgeContested:
			err = r.judgeContested(ctx, t.name)
		case finishDefinition:
			err = r.alone(list, t, func() error { return r.finishDefinition(ctx, t.name) })
		case finishNamespace:
			err = r.alone(list, t, func() error { return r.finishNamespace(ctx, t.name) })
		case migrateResource:
			err = r.alone(list, t, func() error { return r.migrate(ctx, t.name) })
		case retryMigration:
			err = r.retryMigrations(ctx, t.name)
		case checkPolicy:
			err = r.checkPolicy(ctx, t.name)
		case verifyOwners:
			err = r.verifyOwners(list, t.name)
		case collectGarbage:
			err = r.collectGarbage(ctx, list, t.name)
		case registerVersion:
			err = r.registerVersion(ctx, t.name)
		case judgeAPIService:
			err = r.judgeAPIService(ctx, list, t.name)
		case measureQuota:
			err = r.measureQuota(ctx, t.name)
		default:
			err = r.alone(list, t, func() error { return r.keep(ctx, t) })
		}
		switch {
		case errors.Is(err, ErrConflict):
			list.catalogue = nil
			continue
		case apierrors.IsNotFound(err):
			return nil // the object is gone, so there is nothing left to do
		}
		return err
	}
	return fmt.Errorf("another write came first in each of %d attempts", maxAttempts)
}
