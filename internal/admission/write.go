package admission

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/internal/observe"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// Write describes a write to plugins.
type Write struct {
	admission.Attributes
	admission.ObjectInterfaces
	Cluster Cluster
	// Observe receives the results of plugins.
	Observe *observe.Request

	replaced bool
}

// Cluster gives plugins access to the server. Its results are shared and must not be altered.
type Cluster interface {
	// Registry returns the served kinds.
	Registry() *resource.Registry
	// Namespace returns a namespace, or a NotFound error.
	Namespace(name string) (*corev1.Namespace, error)
	// Get returns an object in a version, or a NotFound error. The namespace is empty for
	// a cluster-scoped resource.
	Get(v *resource.Version, namespace, name string) (runtime.Object, error)
	// List returns the objects that match the selector, sorted by key. An empty namespace means all namespaces.
	List(v *resource.Version, namespace string, selector labels.Selector) ([]runtime.Object, error)
	// Authorizer returns the authorizer of users.
	Authorizer() authorizer.UnconditionalAuthorizer
	// HookClient returns a client for calls of a mutating or a validating webhook.
	HookClient(config webhook.ClientConfig, mutating bool) (*rest.RESTClient, error)
	// Now returns the time of the server's clock.
	Now() time.Time
}

// NewWrite returns the Write of an object in a version. For a subresource of another kind, such as scale, it is the
// version of that kind.
func NewWrite(ctx context.Context, a admission.Attributes, v *resource.Version, c Cluster) *Write {
	return &Write{Attributes: a, ObjectInterfaces: objects{v.Codec.Objects(), c, ctx}, Cluster: c, Observe: observe.From(ctx)}
}

// Change records that a plugin has changed the object of the write itself.
func (w *Write) Change() { w.replaced = true }

// Replace sets the object of the write to the changed object of a plugin, in any version.
func (w *Write) Replace(versioned runtime.Object) error {
	w.replaced = true
	return w.GetObjectConvertor().Convert(versioned, w.GetObject(), nil)
}

// Resource returns the resource of the write; nil: it is no longer served.
func (w *Write) Resource() *resource.Resource {
	resource := w.GetResource()
	return w.Cluster.Registry().Resource(resource.Group, resource.Resource)
}

// Replaced reports whether a plugin has changed the object.
func (w *Write) Replaced() bool { return w.replaced }

// AddAnnotation implements admission.Attributes. It adds the annotation to the audit event of the request.
func (w *Write) AddAnnotation(key, value string) error {
	return w.AddAnnotationWithLevel(key, value, auditinternal.LevelMetadata)
}

// AddAnnotationWithLevel implements admission.Attributes.
func (w *Write) AddAnnotationWithLevel(key, value string, level auditinternal.Level) error {
	if err := w.Attributes.AddAnnotationWithLevel(key, value, level); err != nil {
		return err
	}
	w.Observe.Annotation(key, value, level)
	return nil
}
