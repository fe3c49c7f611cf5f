package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"

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

// CreateNamespace implements intree.Cluster.
func (p forPlugins) CreateNamespace(ctx context.Context, ns *corev1.Namespace) error {
	return p.own.create(ctx, p.namespaces, "", ns)
}
