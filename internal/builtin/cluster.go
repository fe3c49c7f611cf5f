package builtin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/auth/authorization"
)

// Cluster is the cluster of a request. Code of kinds gets it from the context of the request, because all clusters of
// the process share the kinds.
type Cluster interface {
	// Namespace returns the namespace with a name. It fails with NotFound if it does not exist.
	Namespace(name string) (*corev1.Namespace, error)

	// AuthenticateRequest implements authenticator.Request.
	AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error)

	// Object returns a copy of an object of a built-in kind, and Objects copies of those in a namespace; an empty
	// namespace means all. They have upstream's internal type. Object fails with NotFound if the object does not exist.
	Object(resource schema.GroupResource, namespace, name string) (runtime.Object, error)
	Objects(resource schema.GroupResource, namespace string) ([]runtime.Object, error)

	// Create creates an object, and Delete deletes one, as the server itself.
	Create(resource schema.GroupResource, namespace string, obj runtime.Object) error
	Delete(resource schema.GroupResource, namespace, name string) error

	// UpdateStatus updates the status of an object, which has a versioned type, as the server itself.
	UpdateStatus(resource schema.GroupResource, obj metav1.Object) error

	// Put stores the result of change for the current object, and Drop removes the object if check returns nil. Both
	// skip admission and the strategy of the kind, as the storages of upstream do for which they are. Put returns the
	// new object, and Drop the last one.
	Put(ctx context.Context, resource schema.GroupResource, namespace, name string, change func(runtime.Object) (runtime.Object, error)) (runtime.Object, error)
	Drop(ctx context.Context, resource schema.GroupResource, namespace, name string, check func(runtime.Object) error) (runtime.Object, error)

	// ServiceRanges returns the address ranges of services, without those of further ServiceCIDRs: one or two families.
	// The first one is for services that do not request a family.
	ServiceRanges() []netip.Prefix
	// NodePortRange returns the node ports that services may have.
	NodePortRange() utilnet.PortRange
	// NodePorts returns the node ports of the cluster.
	NodePorts() *NodePorts
	// Tokens issues the tokens of service accounts.
	Tokens() *authentication.Issuer
	// Decider returns the authorizer.
	Decider() authorization.Authorizer
	// Rules returns the roles and bindings in the cluster.
	Rules() *authorization.Rules
	// ResourceOf returns the resource of a served kind.
	ResourceOf(kind schema.GroupVersionKind) (schema.GroupVersionResource, error)
	// Random returns a number from 0 to bound-1. With a seed, a cluster has the same numbers in each run.
	Random(bound int) int
	// Now returns the time of the cluster's clock.
	Now() time.Time

	// Kubelet returns a function that connects to the kubelet of a node, which speaks HTTP; nil: the node has none.
	Kubelet(node string) func(context.Context) (net.Conn, error)
	// DialPods returns a function that connects to pods at their addresses; nil: none run.
	DialPods() func(ctx context.Context, network, address string) (net.Conn, error)
}

type clusterKey struct{}

// WithCluster returns a context with the cluster, for the code of kinds.
func WithCluster(ctx context.Context, c Cluster) context.Context {
	return context.WithValue(ctx, clusterKey{}, c)
}

var errNoCluster = errors.New("fakecluster: the context has no cluster: create it with builtin.WithCluster")

// ClusterFrom returns the cluster of WithCluster. It fails for a context without one.
func ClusterFrom(ctx context.Context) (Cluster, error) {
	c, ok := ctx.Value(clusterKey{}).(Cluster)
	if !ok {
		return nil, errNoCluster
	}
	return c, nil
}

// namespaces reads the namespaces of the cluster of a request. It implements only Get,
// because strategies call no other method.
type namespaces struct {
	corev1client.NamespaceInterface
}

// Get implements corev1client.NamespaceInterface.
func (namespaces) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Namespace, error) {
	c, err := ClusterFrom(ctx)
	if err != nil {
		return nil, fmt.Errorf("namespace %s: %w", name, err)
	}
	return c.Namespace(name)
}
