package server

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
)

// forPlugins implements intree.Cluster, for the admission plugins that are compiled into
// kube-apiserver.
type forPlugins struct {
	state
	own    *ownWrites
	random *write.Random
}

// GenerateName implements intree.Cluster.
func (p forPlugins) GenerateName(base string) string { return p.random.Name(base) }

// Await implements intree.Cluster.
func (p forPlugins) Await(ctx context.Context, v *resource.Version, namespace, name string) (runtime.Object, error) {
	changes, err := p.store.Watch(v.Resource.Key(namespace, name), 0)
	if err != nil {
		return nil, err
	}
	for {
		obj, err := p.Get(v, namespace, name)
		if !apierrors.IsNotFound(err) {
			return obj, err
		}
		if _, ended := changes.Next(ctx); ended != nil {
			return nil, err
		}
	}
}

// CreateNamespace implements intree.Cluster.
func (p forPlugins) CreateNamespace(ctx context.Context, ns *corev1.Namespace) error {
	return p.own.create(ctx, p.namespaces, "", ns)
}
