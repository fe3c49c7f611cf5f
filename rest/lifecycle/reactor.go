package lifecycle

import (
	"context"
	"slices"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/rest/resource"
	"github.com/fakecluster/fakecluster/store"
)

// Change is what a commit changed.
type Change struct {
	Resource  *resource.Resource
	Namespace string
	Name      string
	Record    store.Record // as committed
	Previous  store.Record // the zero value for a create
	Deleted   bool
}

// Server is what a Reactor needs of the server.
type Server interface {
	// Catalogue is brought up to date with the definitions in the store first.
	Catalogue() (*resource.Catalogue, error)
	// Namespaces and Definitions are the built-in resources that have a
	// lifecycle.
	Namespaces() *resource.Resource
	Definitions() *resource.Resource

	Now() metav1.Time
	// Revision is that of the newest write.
	Revision() int64

	// Get reads an object as its strategy sees it. It is the caller's own.
	Get(ctx context.Context, r *resource.Resource, namespace, name string) (runtime.Object, store.Record, error)
	// List reads all objects of a namespace, or of all.
	List(r *resource.Resource, namespace string) ([]store.Record, error)
	// Update puts an object, or a subresource of it, through the pipeline, if it
	// is still the one of the record and the preconditions hold. It fails with a
	// conflict otherwise. The object is the pipeline's from then on.
	Update(ctx context.Context, r *resource.Resource, subresource string, was store.Record, obj runtime.Object, require ...store.Precondition) error
	// Rewrite puts an object through the pipeline as it is.
	Rewrite(ctx context.Context, r *resource.Resource, record store.Record) error
	// Delete deletes an object as a client would.
	Delete(ctx context.Context, r *resource.Resource, namespace, name string) error
}

// Reactor reacts to commits.
type Reactor struct {
	server Server
}

// NewReactor makes the reactor of a server.
func NewReactor(s Server) *Reactor { return &Reactor{server: s} }

// task is one thing to see to.
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
)

// tasks is the list of what is left to do, of one React and of the writes it
// makes.
type tasks struct{ left []task }

func (t *tasks) add(kind, name string) {
	if next := (task{kind, name}); !slices.Contains(t.left, next) {
		t.left = append(t.left, next)
	}
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

// Resume takes up what a server was doing whose state this one has got: it sees
// to every definition, namespace and migration that is not at rest.
func (r *Reactor) Resume(ctx context.Context) error {
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
	namespaces, err := r.server.List(r.server.Namespaces(), "")
	if err != nil {
		return err
	}
	for _, ns := range namespaces {
		if isTerminating(ns.Value) {
			list.add(finishNamespace, r.server.Namespaces().NameOf(ns.Key))
		}
	}
	under := catalogue.Resource(storagemigrationv1.GroupName, migrations)
	records, err := r.server.List(under, "")
	if err != nil {
		return err
	}
	for _, m := range records {
		list.add(migrateResource, under.NameOf(m.Key))
	}
	r.work(ctx, list)
	return nil
}

// work sees to all tasks of a list, and to those that they add.
func (r *Reactor) work(ctx context.Context, list *tasks) {
	ctx = context.WithValue(ctx, tasksKey{}, list)
	for len(list.left) > 0 {
		next := list.left[0]
		list.left = list.left[1:]
		if err := r.do(ctx, next); err != nil {
			klog.ErrorS(err, "A reaction to a write failed; the next related write tries again", "reaction", next.kind, "object", next.name)
		}
	}
}

// note lists what a change gives rise to.
func (r *Reactor) note(list *tasks, c Change) {
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
		if isMigrating(c.Previous.Value) && isMigrating(c.Record.Value) {
			list.add(retryMigration, c.Name)
		}
	case c.Resource == r.server.Namespaces():
		if !c.Deleted && isTerminating(c.Record.Value) {
			list.add(finishNamespace, c.Name)
		}
	case isMigration(c.Resource):
		if !c.Deleted && hasBegun(c.Previous.Value) == hasBegun(c.Record.Value) {
			list.add(migrateResource, c.Name)
		}
	case c.Deleted:
		if c.Resource.Terminating {
			list.add(finishDefinition, c.Resource.Definition.Key[len(r.server.Definitions().Prefix):])
		}
		if c.Namespace != "" && r.namespaceTerminates(c.Namespace) {
			list.add(finishNamespace, c.Namespace)
		}
	}
}

// do sees to one task. It starts over when another writer was faster.
func (r *Reactor) do(ctx context.Context, t task) error {
	for {
		var err error
		switch t.kind {
		case judgeDefinition:
			err = r.judgeDefinition(ctx, t.name)
		case judgeContested:
			err = r.judgeContested(ctx, t.name)
		case finishDefinition:
			err = r.finishDefinition(ctx, t.name)
		case finishNamespace:
			err = r.finishNamespace(ctx, t.name)
		case migrateResource:
			err = r.migrate(ctx, t.name)
		case retryMigration:
			err = r.retryMigrations(ctx, t.name)
		}
		switch {
		case apierrors.IsConflict(err):
			continue
		case apierrors.IsNotFound(err):
			return nil // somebody saw to it
		}
		return err
	}
}
