package controller

import (
	"errors"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// controller is a controller of kube-controller-manager, or of kube-apiserver.
type controller struct {
	name Name // set from the table
	// idle: the controller does not act. replaced: a client acts in its place for now; forks do not
	// inherit it.
	idle, replaced atomic.Bool
	// identity is who makes its writes.
	identity Identity

	// follows has the kinds that the controller follows.
	follows []followed
	// first enqueues keys in a new cluster, besides those for existing objects; nil: none.
	first func(s *step)
	// resume enqueues keys in a cluster whose store was written by another server, besides those of a new cluster; nil:
	// none.
	resume func(s *step, revision int64) error
	// catchUp enqueues keys for commits that the controller may not have handled: those after a revision. It is called
	// besides resume, unless all are known to be handled; nil: resume does that.
	catchUp func(s *step, after int64) error
	// inherit copies the state of the same controller in the origin of a fork, at a revision; nil: the controller has no
	// state.
	inherit func(from *controller, revision int64)
	// sync reads the objects of a key, and writes what is missing.
	sync func(s *step, k key) error
	// resyncs: the writes of a sync can make another sync of the same key necessary.
	resyncs bool
	// state is the state of the controller, for inherit.
	state any
}

// followed is a kind whose changes a controller follows.
type followed struct {
	kind kind // or anyKind
	// concerns enqueues the keys that a change of an object concerns.
	concerns func(s *step, c change) error
	// begins: in a new cluster the controller syncs what the objects of this kind concern.
	begins bool
}

// kind is a kind in the version v1, which the controllers use.
type kind struct{ group, plural string }

// anyKind matches all kinds.
var anyKind kind

func (k kind) resource() schema.GroupResource {
	return schema.GroupResource{Group: k.group, Resource: k.plural}
}

// matches reports whether a resource is of the kind.
func (k kind) matches(r *resource.Resource) bool {
	return r.Names.Plural == k.plural && r.Group == k.group
}

// in returns the version of the kind in a registry, or nil if it is not served.
func (k kind) in(c *resource.Registry) *resource.Version {
	res := c.Resource(k.group, k.plural)
	if res == nil {
		return nil
	}
	if v := res.Version("v1"); v != nil && v.Served {
		return v
	}
	return nil
}

// version returns the version of a kind that is served now.
func (s *Server) version(k kind) (*resource.Version, error) {
	if v := k.in(s.Cluster.Registry()); v != nil {
		return v, nil
	}
	return nil, errNotServed
}

func (s *Server) now() time.Time { return s.Cluster.Now() }

// begin enqueues what the controller has to sync in a new cluster.
func (c *controller) begin(s *step) error {
	if c.first != nil {
		c.first(s)
	}
	for _, f := range c.follows {
		if !f.begins {
			continue
		}
		objects, err := s.list(f.kind, "", nil)
		if errors.Is(err, errNotServed) {
			continue
		}
		if err != nil {
			return err
		}
		for _, obj := range objects {
			metadata, err := meta.Accessor(obj)
			if err != nil {
				return err
			}
			exists := change{server: s.server, kind: f.kind, obj: obj}
			exists.Namespace, exists.Name = metadata.GetNamespace(), metadata.GetName()
			if err := f.concerns(s, exists); errors.Is(err, errNotServed) {
				break
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

// changed enqueues an object that has been created or changed.
func changed(s *step, c change) error {
	if !c.Deleted {
		s.enqueue(c.key())
	}
	return nil
}

// enqueueAfter enqueues the objects of a kind that have been created or changed after a revision.
func enqueueAfter(s *step, k kind, revision int64) error {
	v, err := s.version(k)
	if err != nil {
		return err
	}
	records, err := s.records(v.Resource, "")
	for _, r := range records {
		if r.Revision > revision {
			s.enqueue(key{namespace: v.Resource.NamespaceOf(r.Key), name: v.Resource.NameOf(r.Key)})
		}
	}
	return err
}

// errNotServed is the error if a kind that a controller needs is not served. A real one would not start.
var errNotServed = errors.New("the kind is not served")

// isTerminating reports whether a create was rejected because its namespace is being deleted.
func isTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
