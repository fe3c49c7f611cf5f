package write

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
)

// manageFields records that the manager of the write set what differs between the
// object, which it alters, and the current one, which is nil for a create.
func (a attempt) manageFields(obj, current runtime.Object) (runtime.Object, error) {
	var learn func(runtime.Object)
	if shortcut := a.version.FieldShortcut; shortcut != nil && a.request.Subresource == "" {
		var done bool
		if learn, done = shortcut.ManageFields(obj, current, a.request.Manager, a.p.Now()); done {
			return obj, nil
		}
	}
	fields, err := a.fieldManager()
	if err != nil {
		return nil, err
	}
	if abridge := a.version.Abridge; abridge != nil {
		if short, shortCurrent, ok := abridge(obj, current); ok {
			return obj, copyManagedFields(obj, fields.UpdateNoErrors(shortCurrent, short, a.request.Manager))
		}
	}
	if current == nil {
		current = a.version.Codec.New()
	}
	obj = fields.UpdateNoErrors(current, obj, a.request.Manager)
	if learn != nil {
		learn(obj)
	}
	return obj, nil
}

// applyFields is a new object: the current one with a configuration merged into it,
// and the manager of the write recorded as the owner of what the configuration says.
func (a attempt) applyFields(current runtime.Object, configuration *unstructured.Unstructured, force bool) (runtime.Object, error) {
	var learn func(runtime.Object)
	if shortcut := a.version.FieldShortcut; shortcut != nil && a.request.Subresource == "" {
		var applied runtime.Object
		if applied, learn = shortcut.Apply(current, configuration, a.request.Manager, a.p.Now()); applied != nil {
			return applied, nil
		}
	}
	fields, err := a.fieldManager()
	if err != nil {
		return nil, err
	}
	obj, err := fields.Apply(current, configuration, a.request.Manager, force)
	if err == nil && learn != nil {
		learn(obj)
	}
	return obj, err
}

// fieldManager is that of the object or of the subresource that is written.
func (a attempt) fieldManager() (*managedfields.FieldManager, error) {
	if a.request.Subresource != "" {
		return a.version.Subresource[a.request.Subresource].FieldManager()
	}
	return a.version.FieldManager()
}

// copyManagedFields gives an object the managedFields of another.
func copyManagedFields(to, from runtime.Object) error {
	target, err := meta.Accessor(to)
	if err != nil {
		return err
	}
	source, err := meta.Accessor(from)
	if err != nil {
		return err
	}
	target.SetManagedFields(source.GetManagedFields())
	return nil
}

// keepTimestamps takes back the new times in managedFields if nothing but them
// has changed, so that nothing is written.
func (a attempt) keepTimestamps(obj, current runtime.Object) (runtime.Object, error) {
	is, ok := obj.(*unstructured.Unstructured)
	was, alsoOK := current.(*unstructured.Unstructured)
	if ok && alsoOK {
		// What is looked at first is what differs most often.
		for key, value := range is.Object {
			if key != "metadata" && !reflect.DeepEqual(value, was.Object[key]) {
				return obj, nil
			}
		}
	}
	return fieldmanager.IgnoreManagedFieldsTimestampsTransformer(a.ctx, obj, current)
}
