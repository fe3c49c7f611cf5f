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

// Action is what a create does where nothing of the kind is stored: a Binding binds a pod, an
// Eviction evicts one, a TokenRequest gets a token.
type Action struct {
	// View is the version of the kind of the body. It does not have a strategy.
	View *Version
	// Accepts are other versions that clients may send.
	Accepts []schema.GroupVersion
	// KeepsMetadata says that the uid and the resourceVersion of what is sent are conditions on
	// the object. Otherwise they are dropped.
	KeepsMetadata bool

	// Do carries out the action for the object of the name. Obj is what was sent; Do may alter
	// it. It calls validate, which calls admission, before it changes anything. The answer is
	// obj with its result filled in, or a Status.
	Do func(ctx context.Context, name string, obj runtime.Object, validate registryrest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error)
}

// Connection is what a GET, POST or another method at a subresource connects the client with: a
// container, or the network of a pod.
type Connection struct {
	// View is the kind of the options, for admission; nil: admission is not called.
	View *Version
	// Options reads the options of the connection from the query and, for a proxy, from the
	// path behind the subresource.
	Options func(query url.Values, path string) (runtime.Object, error)
	// Connect returns the handler of the connection, or an error that says why there is none; nil: there is nothing to
	// send. Upgrade says that the client requests a stream. The handler may answer with an error through the responder.
	Connect func(ctx context.Context, name string, options runtime.Object, upgrade bool, responder registryrest.Responder) (http.Handler, error)
	// Storage is upstream's storage of such connections. It provides which methods, options and paths it takes.
	Storage registryrest.Storage
}

// Methods returns the HTTP methods that make the connection.
func (c *Connection) Methods() []string {
	if connecter, ok := c.Storage.(registryrest.Connecter); ok {
		return connecter.ConnectMethods()
	}
	return []string{http.MethodGet}
}

// TakesPath reports whether the path may have more segments behind the subresource.
func (c *Connection) TakesPath() bool {
	connecter, ok := c.Storage.(registryrest.Connecter)
	if !ok {
		return false
	}
	_, takesPath, _ := connecter.NewConnectOptions()
	return takesPath
}
