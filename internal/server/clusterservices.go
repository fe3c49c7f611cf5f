package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiserverproxy "k8s.io/apiserver/pkg/util/proxy"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// clusterServices resolves the given Services and, if these reach the pods of the cluster, Service objects to their
// cluster IPs.
type clusterServices struct {
	Services
	objects  objects
	resource *resource.Resource // of Services
}

// ResolveEndpoint implements webhook.ServiceResolver.
func (c clusterServices) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	to, err := c.Services.ResolveEndpoint(namespace, name, port)
	if err == nil || !c.Connected() {
		return to, err
	}
	return apiserverproxy.ResolveCluster(serviceLister{cluster: c}, namespace, name, port)
}

// serviceLister reads Services for upstream's resolver, which calls only Services and Get.
type serviceLister struct {
	corelisters.ServiceLister
	cluster clusterServices
}

// Services implements corelisters.ServiceLister.
func (l serviceLister) Services(namespace string) corelisters.ServiceNamespaceLister {
	return namespaceServices{cluster: l.cluster, namespace: namespace}
}

// namespaceServices lists the Services of a namespace.
type namespaceServices struct {
	corelisters.ServiceNamespaceLister
	cluster   clusterServices
	namespace string
}

// Get implements corelisters.ServiceNamespaceLister.
func (s namespaceServices) Get(name string) (*corev1.Service, error) {
	obj, err := s.cluster.objects.Get(s.cluster.resource.Version("v1"), s.namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, apierrors.NewNotFound(corev1.Resource("service"), name) // as of a lister
	}
	if err != nil {
		return nil, err
	}
	return obj.(*corev1.Service), nil
}

// serviceNetwork implements aggregation.Network over the services of a cluster.
type serviceNetwork struct{ services Services }

// Reaches implements aggregation.Network.
func (n serviceNetwork) Reaches(namespace, name string, port int32) bool {
	return n.services != nil && n.services.Handles(namespace, name, port)
}

// Address implements aggregation.Network.
func (n serviceNetwork) Address(namespace, name string, port int32) (string, error) {
	if n.services == nil {
		return "", fmt.Errorf("service %q not found", name)
	}
	to, err := n.services.ResolveEndpoint(namespace, name, port)
	if err != nil {
		return "", err
	}
	return to.Host, nil
}

// Connected implements aggregation.Network.
func (n serviceNetwork) Connected() bool { return n.services != nil && n.services.Connected() }

// ClientCertificate implements aggregation.Network.
func (n serviceNetwork) ClientCertificate() *tls.Certificate {
	if n.services == nil {
		return nil
	}
	return n.services.ClientCertificate()
}

// Dial implements aggregation.Network.
func (n serviceNetwork) Dial(ctx context.Context, kind, address string) (net.Conn, error) {
	if n.services != nil {
		return n.services.DialContext(ctx, kind, address)
	}
	return bubble.DialContext(ctx, kind, address)
}
