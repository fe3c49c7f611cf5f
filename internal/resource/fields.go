package resource

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// FieldManager records who set which fields of an object, and merges what
// server-side apply sends. It is made when the first write needs it, because the
// schemas it works from take time to prepare.
type FieldManager func() (*managedfields.FieldManager, error)

// FieldShortcut knows the outcome of field management for common
// writes of whole objects, and for applies that change hands of nothing.
type FieldShortcut interface {
	// ManageFields records that the manager set what differs between the object
	// and the current one, which is nil for a create, as the field manager would,
	// and reports that it has done so. If it cannot tell, it returns what wants to
	// learn from the object once the field manager is done with it, or nil.
	ManageFields(obj, current runtime.Object, manager string, now metav1.Time) (learn func(runtime.Object), done bool)

	// Apply is what an apply of a configuration by the manager makes of the current
	// object, which it does not alter. If it cannot tell it returns nil and what
	// wants to learn from the object that the field manager makes, or nil.
	Apply(current, configuration runtime.Object, manager string, now metav1.Time) (applied runtime.Object, learn func(runtime.Object))
}

// TypedFieldManager is the field manager of a kind that a scheme has Go types
// for. The fields to reset are those that the endpoint ignores, by apiVersion.
func TypedFieldManager(scheme *runtime.Scheme, types func() managedfields.TypeConverter, kind schema.GroupVersionKind, hub schema.GroupVersion,
	subresource string, reset ...string) FieldManager {
	return sync.OnceValues(func() (*managedfields.FieldManager, error) {
		return managedfields.NewDefaultFieldManager(types(), scheme, scheme, scheme, kind, hub, subresource,
			ResetFields(map[string][]string{kind.GroupVersion().String(): reset}))
	})
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
