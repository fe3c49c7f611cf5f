package builtin

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
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
}

type clusterKey struct{}

// WithCluster returns a context in which the code of kinds finds the cluster.
func WithCluster(ctx context.Context, c Cluster) context.Context {
	return context.WithValue(ctx, clusterKey{}, c)
}

var errNoCluster = errors.New("fakecluster: the write says nothing of its cluster")

func clusterFrom(ctx context.Context) (Cluster, error) {
	c, ok := ctx.Value(clusterKey{}).(Cluster)
	if !ok {
		return nil, errNoCluster
	}
	return c, nil
}

// everybody allows every user every action: a client with the token of a cluster is its
// administrator.
var everybody = authorizerfactory.NewAlwaysAllowAuthorizer()

// namespaces reads the namespaces of the cluster of a request. It implements Get alone,
// the one method of the interface that strategies call.
type namespaces struct {
	corev1client.NamespaceInterface
}

// Get implements corev1client.NamespaceInterface.
func (namespaces) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Namespace, error) {
	c, err := clusterFrom(ctx)
	if err != nil {
		return nil, fmt.Errorf("namespace %s: %w", name, err)
	}
	return c.Namespace(name)
}
