package resource

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fakecluster/fakecluster/internal/fields"
)

// Fields records who set which fields of an object, and merges what server-side apply
// sends.
type Fields interface {
	// Update records that the manager set what differs between an object, which it
	// alters, and the current one. For a create that is an empty object, as Codec.New
	// makes it. It returns the object, and who owns its fields now, if it knows. What goes
	// wrong with managedFields is no error: they stay as they were then.
	Update(current Decoded, obj runtime.Object, manager string, now metav1.Time) (runtime.Object, *fields.Managed, error)

	// Apply is a new object: the current one with a configuration of the manager merged
	// into it. Force takes over what others own; without it the apply is refused then. It
	// returns who owns its fields, too, if it knows.
	Apply(current Decoded, configuration *unstructured.Unstructured, manager string, force bool, now metav1.Time) (runtime.Object, *fields.Managed, error)
}

// FieldManager is upstream's field manager as Fields. It is made when the first write
// needs it, because the schemas it works from take time to prepare. It looks at its own
// clock.
type FieldManager func() (*managedfields.FieldManager, error)

// Update implements Fields.
func (m FieldManager) Update(current Decoded, obj runtime.Object, manager string, _ metav1.Time) (runtime.Object, *fields.Managed, error) {
	out, err := m.update(current.Object, obj, manager)
	return out, nil, err
}

func (m FieldManager) update(current, obj runtime.Object, manager string) (runtime.Object, error) {
	fields, err := m()
	if err != nil {
		return nil, err
	}
	return fields.UpdateNoErrors(current, obj, manager), nil
}

// Apply implements Fields.
func (m FieldManager) Apply(current Decoded, configuration *unstructured.Unstructured, manager string, force bool, _ metav1.Time) (runtime.Object, *fields.Managed, error) {
	out, err := m.apply(current.Object, configuration, manager, force)
	return out, nil, err
}

func (m FieldManager) apply(current runtime.Object, configuration *unstructured.Unstructured, manager string, force bool) (runtime.Object, error) {
	fields, err := m()
	if err != nil {
		return nil, err
	}
	return fields.Apply(current, configuration, manager, force)
}

// ResetFields is the filter that leaves out fields, by apiVersion.
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
