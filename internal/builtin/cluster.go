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

// Cluster answers questions about the cluster that a request was sent to. The code of a
// kind finds it in the context of the request, because all clusters of the process share
// the kinds.
type Cluster interface {
	// Namespace returns the namespace with the name. If it does not exist, the error is a
	// NotFound.
	Namespace(name string) (*corev1.Namespace, error)

	// AuthenticateRequest implements authenticator.Request.
	AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error)

	// Object returns a copy of an object of a built-in kind, and Objects returns those of a
	// namespace, or of all namespaces for the empty one. They are of upstream's internal type.
	// If there is no such object, the error is a NotFound.
	Object(resource schema.GroupResource, namespace, name string) (runtime.Object, error)
	Objects(resource schema.GroupResource, namespace string) ([]runtime.Object, error)

	// Create creates an object, and Delete deletes one, as the server itself.
	Create(resource schema.GroupResource, namespace string, obj runtime.Object) error
	Delete(resource schema.GroupResource, namespace, name string) error

	// UpdateStatus updates the status of an object, which is of a served type, as the server
	// itself asks for it.
	UpdateStatus(resource schema.GroupResource, obj metav1.Object) error

	// Put stores what change makes of the current object, and Drop removes the object if check
	// allows it. Both skip admission and the strategy of the kind. They are for upstream's own
	// storages, which do so, too. Put returns the new object, and Drop the last one.
	Put(ctx context.Context, resource schema.GroupResource, namespace, name string, change func(runtime.Object) (runtime.Object, error)) (runtime.Object, error)
	Drop(ctx context.Context, resource schema.GroupResource, namespace, name string, check func(runtime.Object) error) (runtime.Object, error)

	// ServiceRanges returns the addresses of services, without those that ServiceCIDRs add: of one
	// family or of two, of which the first is that of services that do not ask for one.
	ServiceRanges() []netip.Prefix
	// NodePortRange returns the node ports that services may have.
	NodePortRange() utilnet.PortRange
	// NodePorts returns the node ports of the cluster.
	NodePorts() *NodePorts
	// Tokens issues the tokens of service accounts.
	Tokens() *authentication.Issuer
	// Decider decides what users may do.
	Decider() authorization.Authorizer
	// Rules returns the roles and bindings in the cluster.
	Rules() *authorization.Rules
	// ResourceOf returns the resource of a served kind.
	ResourceOf(kind schema.GroupVersionKind) (schema.GroupVersionResource, error)
	// Random returns a number of at least 0 that is less than the bound. With a seed, the
	// numbers of a cluster repeat.
	Random(bound int) int
	// Now returns the time of the cluster.
	Now() time.Time

	// Kubelet returns how to connect to the kubelet of a node, which speaks HTTP; nil: none runs there.
	Kubelet(node string) func(context.Context) (net.Conn, error)
	// DialPods returns how to connect to pods, by their addresses; nil: none run.
	DialPods() func(ctx context.Context, network, address string) (net.Conn, error)
}

type clusterKey struct{}

// WithCluster returns a context in which the code of kinds finds the cluster.
func WithCluster(ctx context.Context, c Cluster) context.Context {
	return context.WithValue(ctx, clusterKey{}, c)
}

var errNoCluster = errors.New("fakecluster: the context has no cluster; create it with builtin.WithCluster")

// ClusterFrom returns the cluster that WithCluster has put into the context, or an error if there is none.
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
