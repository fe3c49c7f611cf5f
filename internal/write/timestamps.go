package write

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"

	"github.com/fakecluster/fakecluster/internal/json"
)

// keepTimestamps restores the times in managedFields if nothing else has changed, so that nothing is written. It calls
// upstream's IgnoreManagedFieldsTimestampsTransformer, which decodes the managedFields of both objects. For objects that
// are maps it first compares the maps, and calls upstream only if their managedFields differ in more than times.
func (a attempt) keepTimestamps(obj, current runtime.Object) (runtime.Object, error) {
	if a.version.Typed {
		return fieldmanager.IgnoreManagedFieldsTimestampsTransformer(a.ctx, obj, current)
	}
	after, stored := obj.(*unstructured.Unstructured), current.(*unstructured.Unstructured)
	metadata, _ := after.Object["metadata"].(map[string]any)
	before, _ := stored.Object["metadata"].(map[string]any)
	if !json.EqualExcept("metadata", after.Object, stored.Object) || !json.EqualExcept("managedFields", metadata, before) {
		return obj, nil
	}
	if owners, ok := metadata["managedFields"].([]any); ok && equalButTimes(owners, before["managedFields"]) {
		metadata["managedFields"] = before["managedFields"]
		return obj, nil
	}
	return fieldmanager.IgnoreManagedFieldsTimestampsTransformer(a.ctx, obj, current)
}

// equalButTimes reports whether two managedFields differ in nothing but times.
func equalButTimes(owners []any, others any) bool {
	before, _ := others.([]any)
	if len(owners) != len(before) {
		return false
	}
	for i := range owners {
		owner, isMap := owners[i].(map[string]any)
		former, wasMap := before[i].(map[string]any)
		if !isMap || !wasMap || !json.EqualExcept("time", owner, former) {
			return false
		}
	}
	return true
}
