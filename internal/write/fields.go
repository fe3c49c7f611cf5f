package write

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// Manage records in a new object, which it alters, that the manager of a request set all
// that is in it. It is for objects that are answered and not stored.
func (p *Pipeline) Manage(ctx context.Context, r Request, obj runtime.Object) (runtime.Object, error) {
	return p.attempt(ctx, &r, r.Version).manageFields(obj, nil)
}

// manageFields records that the manager of the write set what differs between the
// object, which it alters, and the current one, which is nil for a create.
func (a attempt) manageFields(obj, current runtime.Object) (runtime.Object, error) {
	if current == nil {
		current = a.shownAs().Codec.New()
	}
	return a.fields().Update(current, obj, a.request.Manager, a.p.Now())
}

// applyFields is a new object: the current one with a configuration merged into it,
// and the manager of the write recorded as the owner of what the configuration says.
func (a attempt) applyFields(current runtime.Object, configuration *unstructured.Unstructured, force bool) (runtime.Object, error) {
	return a.fields().Apply(current, configuration, a.request.Manager, force, a.p.Now())
}

// fields are those of the object or of the subresource that is written.
func (a attempt) fields() resource.Fields {
	if a.view != nil {
		return a.view.FieldManager
	}
	if a.request.Subresource != "" {
		return a.version.Subresource[a.request.Subresource].FieldManager
	}
	return a.version.FieldManager
}
