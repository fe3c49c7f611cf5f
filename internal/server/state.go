package server

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/util/webhook"
	clientrest "k8s.io/client-go/rest"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/auth/authorization"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// objects reads the objects of a store.
type objects struct {
	store  *store.Store
	memory *resource.Memory
}

// Get returns an object in a version. The caller must not alter it.
func (o objects) Get(v *resource.Version, namespace, name string) (runtime.Object, error) {
	obj, _, err := o.read(v, namespace, name)
	if err != nil {
		return nil, err
	}
	return v.External(obj)
}

// read returns an object, of the type of the version's strategy, and its record. The caller must not alter the object.
func (o objects) read(v *resource.Version, namespace, name string) (runtime.Object, store.Record, error) {
	record, err := o.store.Get(v.Resource.Key(namespace, name))
	if errors.Is(err, store.ErrNotFound) {
		return nil, record, apierrors.NewNotFound(v.Resource.GroupResource(), name)
	}
	if err != nil {
		return nil, record, err
	}
	current, err := o.memory.Decode(v, record)
	return current.Object, record, err
}

// List returns the objects of a namespace that match a selector. An empty namespace means all namespaces, a nil selector
// all objects. The caller must not alter them.
func (o objects) List(v *resource.Version, namespace string, selector labels.Selector) ([]runtime.Object, error) {
	list, err := o.store.List(v.Resource.PrefixOf(namespace), store.ListOptions{})
	if err != nil {
		return nil, err
	}
	objects, err := o.memory.DecodeAll(v, list.Records)
	if err != nil {
		return nil, err
	}
	matching := objects[:0]
	for _, obj := range objects {
		metadata, err := meta.Accessor(obj)
		if err != nil {
			return nil, err
		}
		if selector != nil && !selector.Matches(labels.Set(metadata.GetLabels())) {
			continue
		}
		if obj, err = v.External(obj); err != nil {
			return nil, err
		}
		matching = append(matching, obj)
	}
	return matching, nil
}

// state implements admission.Cluster: it reads objects, and provides the authorizer and the clients of webhooks.
type state struct {
	objects
	registry   *registry
	namespaces *resource.Resource
	hooks      *hooks
	authorizer authorization.Authorizer
	now        func() metav1.Time
}

var _ restadmission.Cluster = state{}

func (c state) Registry() *resource.Registry { return c.registry.Load() }
func (c state) Now() time.Time               { return c.now().Time }

func (c state) Namespace(name string) (*corev1.Namespace, error) {
	obj, err := c.Get(c.namespaces.Storage, "", name)
	if err != nil {
		return nil, err
	}
	return obj.(*corev1.Namespace), nil
}

// Authorizer implements admission.Cluster.
func (c state) Authorizer() authorizer.UnconditionalAuthorizer { return c.authorizer }

func (c state) HookClient(config webhook.ClientConfig, mutating bool) (*clientrest.RESTClient, error) {
	return c.hooks.client(config, mutating)
}
