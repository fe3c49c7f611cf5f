package resource

import (
	goruntime "runtime"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fakecluster/fakecluster/internal/fields"
)

// Fields manages the owners of an object's fields, and merges configurations of server-side apply.
type Fields interface {
	// Update compares an object with the current one, and makes the manager the owner of the fields that differ. For a
	// create, the current object is empty, as Codec.New returns it. Update alters the object and returns it, with the
	// owners of its fields if they have been computed. If managedFields cannot be computed, they stay unchanged, and
	// Update does not fail.
	Update(current Decoded, obj runtime.Object, manager string, now metav1.Time) (runtime.Object, *fields.Managed, error)

	// Apply returns a new object: the current one with a configuration of the manager merged into it. With force it
	// takes over fields of other managers; without force it fails with a Conflict for these. It also returns the owners
	// of the fields, if they have been computed.
	Apply(current Decoded, configuration *unstructured.Unstructured, manager string, force bool, now metav1.Time) (runtime.Object, *fields.Managed, error)
}

// FieldManager is upstream's field manager as Fields. It is created for the first write that needs it, because its
// schemas take time. It uses the clock of the process.
type FieldManager func() (*managedfields.FieldManager, error)

// Update implements Fields.
func (m FieldManager) Update(current Decoded, obj runtime.Object, manager string, _ metav1.Time) (runtime.Object, *fields.Managed, error) {
	out, err := m.update(current.Object, obj, manager)
	return out, nil, err
}

func (m FieldManager) update(current, obj runtime.Object, manager string) (_ runtime.Object, err error) {
	fields, err := m()
	if err != nil {
		return nil, err
	}
	defer refuseUnprintable(&err)
	return fields.UpdateNoErrors(current, obj, manager), nil
}

// Apply implements Fields.
func (m FieldManager) Apply(current Decoded, configuration *unstructured.Unstructured, manager string, force bool, _ metav1.Time) (runtime.Object, *fields.Managed, error) {
	out, err := m.apply(current.Object, configuration, manager, force)
	return out, nil, err
}

func (m FieldManager) apply(current runtime.Object, configuration *unstructured.Unstructured, manager string, force bool) (_ runtime.Object, err error) {
	fields, err := m()
	if err != nil {
		return nil, err
	}
	defer refuseUnprintable(&err)
	return fields.Apply(current, configuration, manager, force)
}

// refuseUnprintable turns a panic about an object that has no JSON into an error. Protobuf can have such an object, for
// example an int-or-string whose type is neither. structured-merge-diff panics with the error of its MarshalJSON, which
// ends the request on a real server. Any other panic is a bug and continues.
func refuseUnprintable(err *error) {
	switch p := recover().(type) {
	case nil:
	case goruntime.Error:
		panic(p)
	case error:
		*err = apierrors.NewBadRequest("the object has no JSON: " + p.Error())
	default:
		panic(p)
	}
}

// ResetFields returns filters that leave out the given fields, by apiVersion.
func ResetFields(byVersion map[string][]string) map[fieldpath.APIVersion]fieldpath.Filter {
	sets := map[fieldpath.APIVersion]*fieldpath.Set{}
	for apiVersion, names := range byVersion {
		var paths []fieldpath.Path
		for _, name := range names {
			paths = append(paths, fieldpath.MakePathOrDie(name))
		}
		sets[fieldpath.APIVersion(apiVersion)] = fieldpath.NewSet(paths...)
	}
	return fieldpath.NewExcludeFilterSetMap(sets)
}
