package server

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/admission/plugins"
	"github.com/fakecluster/fakecluster/internal/controller"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// forPlugins implements plugins.Cluster, for the admission plugins that are compiled into kube-apiserver.
type forPlugins struct {
	*loopback
}

// GenerateName implements plugins.Cluster.
func (p forPlugins) GenerateName(base string) string { return p.pipeline.Random.Name(base) }

// Await implements plugins.Cluster.
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

// CreateNamespace implements plugins.Cluster.
func (p forPlugins) CreateNamespace(ctx context.Context, ns *corev1.Namespace) error {
	return p.create(ctx, p.namespaces, "", ns)
}

// compile returns a chain with only the compiled-in plugins.
func (p forPlugins) compile(o plugins.Options, acting controller.Acting) (admission.Chain, error) {
	if !acting[controller.ServiceAccounts] {
		o = o.OffByDefault(plugins.ServiceAccount) // no controller creates the accounts that it reads
	}
	return o.Chain(p)
}
