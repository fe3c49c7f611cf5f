package write

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/internal/fields"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// manageFields makes the manager of the write the owner of the fields that differ between obj and current. It alters
// obj. For a create current is empty.
func (a attempt) manageFields(obj, current resource.Decoded) (resource.Decoded, error) {
	if current.Object == nil {
		current.Object = a.shownAs().Codec.New()
	}
	var owners *fields.Managed
	var err error
	obj.Object, owners, err = a.fields().Update(current, obj.Object, a.request.Manager, a.p.Now())
	return obj.WithOwners(owners), err
}

// applyFields returns a new object: the current one with a configuration merged into it.
// The manager of the write owns the fields of the configuration.
func (a attempt) applyFields(current resource.Decoded, configuration *unstructured.Unstructured, force bool) (resource.Decoded, error) {
	obj, owners, err := a.fields().Apply(current, configuration, a.request.Manager, force, a.p.Now())
	return resource.Decoded{Object: obj}.WithOwners(owners), err
}

// fields returns the field management of the object, or of the subresource that is written.
func (a attempt) fields() resource.Fields {
	if a.view != nil {
		return a.view.FieldManager
	}
	if a.request.Subresource != "" {
		return a.version.Subresource[a.request.Subresource].FieldManager
	}
	return a.version.FieldManager
}
