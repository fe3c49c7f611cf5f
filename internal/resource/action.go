package resource

import (
	"context"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
)

// Action is the effect of a create for a kind that is not stored: a Binding binds a pod, an Eviction evicts one, a
// TokenRequest issues a token.
type Action struct {
	// View is the version of the body's kind. It does not have a strategy.
	View *Version
	// Accepts are further versions of the body.
	Accepts []schema.GroupVersion
	// KeepsMetadata: the uid and the resourceVersion of the body are preconditions on the object. Otherwise they are
	// dropped.
	KeepsMetadata bool

	// Do carries out the action for the object with the name. obj is the decoded body; Do may alter it. It calls
	// validate, which calls admission, before it changes anything. It returns obj with its result filled in, or a
	// Status.
	Do func(ctx context.Context, name string, obj runtime.Object, validate registryrest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error)
}

// Connection is a subresource that connects the client with a container or the network of a pod.
type Connection struct {
	// View is the kind of the options, for admission; nil: admission is not called.
	View *Version
	// Options decodes the options of the connection from the query and, for a proxy, from the path after the
	// subresource.
	Options func(query url.Values, path string) (runtime.Object, error)
	// Connect returns the handler of the connection, or the error to answer. upgrade: the client requests a stream. The
	// handler may answer with an error through the responder. A nil handler sends nothing.
	Connect func(ctx context.Context, name string, options runtime.Object, upgrade bool, responder registryrest.Responder) (http.Handler, error)
	// Storage is upstream's storage of such connections, which defines the methods, the options and whether paths may
	// follow.
	Storage registryrest.Storage
}

// Methods returns the HTTP methods that make the connection.
func (c *Connection) Methods() []string {
	if connecter, ok := c.Storage.(registryrest.Connecter); ok {
		return connecter.ConnectMethods()
	}
	return []string{http.MethodGet}
}

// TakesPath reports whether the path may have more segments after the subresource.
func (c *Connection) TakesPath() bool {
	connecter, ok := c.Storage.(registryrest.Connecter)
	if !ok {
		return false
	}
	_, takesPath, _ := connecter.NewConnectOptions()
	return takesPath
}
