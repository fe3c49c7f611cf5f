package admission

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// Write is what admission is given of a write.
type Write struct {
	admission.Attributes
	admission.ObjectInterfaces
	Cluster Cluster

	audit    *audit.AuditContext
	ctx      context.Context
	replaced bool
}

// Cluster is what plugins ask of the server. What it returns is shared and must
// not be altered.
type Cluster interface {
	// Catalogue is what is served.
	Catalogue() *resource.Catalogue
	// Namespace is the namespace of that name, or a NotFound error.
	Namespace(name string) (*corev1.Namespace, error)
	// Get is an object as the version shows it, or a NotFound error. The namespace is
	// empty for a cluster-scoped resource.
	Get(v *resource.Version, namespace, name string) (runtime.Object, error)
	// List are the objects of a namespace, or of all for the empty one, that
	// the selector matches, in the order of their keys.
	List(v *resource.Version, namespace string, selector labels.Selector) ([]runtime.Object, error)
	// HookClient is the client that calls a webhook.
	HookClient(config webhook.ClientConfig) (*rest.RESTClient, error)
	// Now is the server's time.
	Now() time.Time
}

// NewWrite describes a write of an object of the version, which for a subresource
// that shows the object as another kind is the version of that.
func NewWrite(ctx context.Context, a admission.Attributes, v *resource.Version, c Cluster) *Write {
	return &Write{Attributes: a, ObjectInterfaces: objects{v.Codec.Objects(), c}, Cluster: c, audit: audit.AuditContextFrom(ctx), ctx: ctx}
}

// Replace makes the object of the write what a plugin has made of it, in whatever
// version.
func (w *Write) Replace(versioned runtime.Object) error {
	w.replaced = true
	return w.GetObjectConvertor().Convert(versioned, w.GetObject(), nil)
}

// Replaced tells whether a plugin has changed the object.
func (w *Write) Replaced() bool { return w.replaced }

// AddAnnotation implements admission.Attributes: the annotation is one of the
// request's audit event.
func (w *Write) AddAnnotation(key, value string) error {
	return w.AddAnnotationWithLevel(key, value, auditinternal.LevelMetadata)
}

// AddAnnotationWithLevel implements admission.Attributes.
func (w *Write) AddAnnotationWithLevel(key, value string, level auditinternal.Level) error {
	if err := w.Attributes.AddAnnotationWithLevel(key, value, level); err != nil {
		return err
	}
	if w.audit != nil && w.audit.GetEventLevel().GreaterOrEqual(level) {
		audit.AddAuditAnnotation(w.ctx, key, value)
	}
	return nil
}

// AlwaysAllow is the authorizer of a cluster, as expressions see it: every user
// may do everything.
var AlwaysAllow authorizer.UnconditionalAuthorizer = alwaysAllow{}

type alwaysAllow struct{}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (alwaysAllow) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}
