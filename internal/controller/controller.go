package controller

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/lifecycle"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// Server is what controllers need of the server.
type Server interface {
	// Cluster reads objects.
	Cluster() admission.Cluster
	// Catalogue returns the catalogue of the definitions that are in the store now.
	Catalogue() (*resource.Catalogue, error)
	// Read returns the record of a key.
	Read(key string) (store.Record, error)
	// Revision returns the revision of the newest write.
	Revision() int64
	// Of returns the object of a record as a version shows it. It must not be altered. Before
	// does so for a record that is not the present one.
	Of(v *resource.Version, record store.Record) (runtime.Object, error)
	Before(v *resource.Version, record store.Record) (runtime.Object, error)
	// Run carries out a write of a controller with a service account in kube-system, or of the
	// server itself for the empty name. It fails with lifecycle.ErrConflict if a precondition
	// does not hold.
	Run(ctx context.Context, account, verb string, w write.Request) (write.Result, error)

	// AuthenticationInfo is the data that the server adds to the ConfigMap
	// extension-apiserver-authentication; nil: it adds nothing.
	AuthenticationInfo() map[string]string
	// RootCA returns the certificate of the authority that signs the server's certificates, as
	// PEM.
	RootCA() ([]byte, error)
	// RepackSubsets puts the subsets of Endpoints into their canonical form.
	//lint:ignore SA1019 the controller is still there
	RepackSubsets([]corev1.EndpointSubset) []corev1.EndpointSubset
}

// New makes those controllers of this package that act in a server. Those that are part of
// kube-apiserver itself always act.
func New(s Server, acting lifecycle.Controllers) []lifecycle.Keeper {
	var all []lifecycle.Keeper
	add := func(name lifecycle.Controller, of func() *controller) {
		c := of()
		c.name, c.server = name, s
		all = append(all, c)
	}
	for _, name := range lifecycle.AllControllers() {
		if of := makers[name]; of != nil && acting[name] {
			add(name, of)
		}
	}
	add(lifecycle.AuthenticationTrust, authenticationTrust)
	add(lifecycle.PriorityAndFairness, danglingSchemas)
	return all
}

// makers make the controllers. Each cluster has its own, because some remember what they
// have seen.
var makers = map[lifecycle.Controller]func() *controller{
	lifecycle.ServiceAccountController: serviceAccounts,
	lifecycle.RootCAPublisher:          rootCA,
	lifecycle.RoleAggregation:          aggregation,
	lifecycle.EndpointsController:      endpoints,
	lifecycle.EndpointSliceController:  slicesController,
	lifecycle.DisruptionController:     disruption,
	lifecycle.PVCProtection:            claimProtection,
	lifecycle.PVProtection:             volumeProtection,
	lifecycle.TTLAfterFinished:         ttlAfterFinished,
	lifecycle.CSRCleaner:               requestCleaner,
}

// controller is a controller of kube-controller-manager, or of kube-apiserver. It is a
// lifecycle.Keeper.
type controller struct {
	name    lifecycle.Controller
	server  Server
	account string // its service account in kube-system; empty: it is part of kube-apiserver

	// follows has the resources whose changes the controller looks at.
	follows []followed
	// first adds keys that the controller has to look at when it begins to act, beside those
	// that objects lead to; nil: there are none.
	first func(s *step, add func(namespace, name string))
	// keep looks at what a key means.
	keep func(s *step, key types.NamespacedName) error
}

// followed is a resource whose changes a controller looks at.
type followed struct {
	kind kind
	// concerns adds the keys that a change of an object concerns.
	concerns func(s *step, c change, add func(namespace, name string)) error
	// begins says that the objects of this kind lead to everything that the controller has
	// to look at when it begins to act.
	begins bool
}

// kind is a kind in the version v1, which is the one that the controllers use.
type kind struct{ group, plural string }

func (k kind) resource() schema.GroupResource {
	return schema.GroupResource{Group: k.group, Resource: k.plural}
}

// in returns the version of the kind in a catalogue, or nil if it is not served.
func (k kind) in(c *resource.Catalogue) *resource.Version {
	res := c.Resource(k.group, k.plural)
	if res == nil {
		return nil
	}
	if v := res.Version("v1"); v != nil && v.Served {
		return v
	}
	return nil
}

// Name implements lifecycle.Keeper.
func (c *controller) Name() lifecycle.Controller { return c.name }

// Watches implements lifecycle.Keeper.
func (c *controller) Watches() []schema.GroupResource {
	var all []schema.GroupResource
	for _, f := range c.follows {
		all = append(all, f.kind.resource())
	}
	return all
}

// Note implements lifecycle.Keeper.
func (c *controller) Note(of lifecycle.Change) ([]string, error) {
	for _, f := range c.follows {
		if f.kind.resource() != of.Resource.GroupResource() {
			continue
		}
		v := f.kind.in(c.server.Cluster().Catalogue())
		if v == nil {
			return nil, nil
		}
		return c.concerned(func(s *step, add func(namespace, name string)) error {
			return f.concerns(s, change{Change: of, server: c.server, version: v}, add)
		})
	}
	return nil, nil
}

// All implements lifecycle.Keeper.
func (c *controller) All() ([]string, error) {
	return c.concerned(func(s *step, add func(namespace, name string)) error {
		if c.first != nil {
			c.first(s, add)
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
				there := change{server: c.server, obj: obj, Change: lifecycle.Change{Namespace: metadata.GetNamespace(), Name: metadata.GetName()}}
				if err := f.concerns(s, there, add); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// concerned collects keys.
func (c *controller) concerned(find func(s *step, add func(namespace, name string)) error) ([]string, error) {
	var keys []string
	err := find(&step{of: c}, func(namespace, name string) {
		keys = append(keys, types.NamespacedName{Namespace: namespace, Name: name}.String())
	})
	if errors.Is(err, errNotServed) {
		err = nil
	}
	return keys, err
}

// Keep implements lifecycle.Keeper.
func (c *controller) Keep(ctx context.Context, key string) (again time.Time, err error) {
	s := &step{of: c, ctx: ctx}
	err = c.keep(s, parseKey(key))
	if errors.Is(err, errNotServed) {
		err = nil
	}
	return s.again, err
}

// parseKey reads what types.NamespacedName prints.
func parseKey(key string) types.NamespacedName {
	for i := range key {
		if key[i] == types.Separator {
			return types.NamespacedName{Namespace: key[:i], Name: key[i+1:]}
		}
	}
	return types.NamespacedName{Name: key}
}

// errNotServed says that a kind which a controller needs is not served. A real one would
// not start.
var errNotServed = errors.New("the kind is not served")

// isTerminating tells whether a create was refused because its namespace is being deleted.
func isTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
