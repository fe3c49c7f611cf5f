package resource

import (
	"context"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
)

// Action is what a create does where nothing of the kind is stored: a Binding binds a pod, an
// Eviction evicts one, a TokenRequest gets a token.
type Action struct {
	// View is the kind that is sent, in the version that the request speaks. It has no strategy.
	View *Version
	// Accepts are further versions that may be sent.
	Accepts []schema.GroupVersion
	// KeepsMetadata says that the uid and the resourceVersion of what is sent are conditions on
	// the object. Otherwise they are dropped.
	KeepsMetadata bool

	// Do carries out what is sent to the object of the name, and returns the answer: what was
	// sent, filled in, or a Status. It calls validate, which asks admission, before it changes
	// anything. It may alter obj.
	Do func(ctx context.Context, name string, obj runtime.Object, validate registryrest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error)
}

// Connection is what a GET, POST or another method at a subresource connects the client with: a
// container, or the network of a pod.
type Connection struct {
	// View is the kind of the options, which admission is asked about; nil: it is not.
	View *Version
	// Options are those of the connection, read from the query and, for a proxy, from the path
	// behind the subresource.
	Options func(query url.Values, path string) (runtime.Object, error)
	// Connect returns what the connection has to say, as text, or why there is none. Upgrade says
	// that the client asks for a stream.
	Connect func(ctx context.Context, name string, options runtime.Object, upgrade bool) (string, error)
}
