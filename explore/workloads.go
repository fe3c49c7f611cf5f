package explore

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/explore/internal/state"
)

// runWorkloads sets the status of the workloads of the trial as if their pods were running, or failing. It reports whether it has
// changed anything. It stands in for the controllers and the kubelets that nothing lives without.
func (p *playing) runWorkloads() (changed bool) {
	for _, o := range p.objectsOf(isWorkload) {
		version, status := p.workloadStatus(o)
		if status == nil {
			continue
		}
		was, _, _ := unstructured.NestedMap(o.Object, "status")
		merged := runtime.DeepCopyJSON(was)
		if merged == nil {
			merged = map[string]any{}
		}
		maps.Copy(merged, status)
		if equality.Semantic.DeepEqual(withoutZeros(was), withoutZeros(merged)) {
			continue
		}
		u := o.DeepCopy()
		u.Object["status"] = merged
		of := schema.GroupVersionResource{Group: o.GroupVersionKind().Group, Version: version, Resource: schema.ParseGroupResource(o.Resource).Resource}
		if _, err := p.client.Resource(of).Namespace(o.GetNamespace()).UpdateStatus(context.Background(), u, updateOptions); err == nil {
			changed = true
		}
	}
	return changed
}

// isWorkload reports whether the objects of a resource have a status for runWorkloads to set.
func isWorkload(resource string) bool {
	switch resource {
	case "deployments.apps", "statefulsets.apps", "replicasets.apps", "daemonsets.apps", "pods":
		return true
	}
	return false
}

// withoutZeros returns a status without the counts that are 0, of which the server stores some.
func withoutZeros(status map[string]any) map[string]any {
	kept := maps.Clone(status)
	maps.DeleteFunc(kept, func(_ string, value any) bool { return value == int64(0) })
	return kept
}

// workloadStatus returns the status that a workload has when its pods run, or fail; nil: it is not a workload.
func (p *playing) workloadStatus(o state.Object) (version string, status map[string]any) {
	if o.GetDeletionTimestamp() != nil {
		return "", nil
	}
	replicas, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if !found {
		replicas = 1
	}
	ready, condition := replicas, "True"
	if p.failing {
		ready, condition = 0, "False"
	}
	now := time.Now().UTC().Format(time.RFC3339)
	if was, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions"); len(was) > 0 {
		if first, ok := was[0].(map[string]any); ok && first["status"] == condition {
			now, _ = first["lastTransitionTime"].(string)
		}
	}
	available := func(kind string) []any {
		return []any{map[string]any{"type": kind, "status": condition, "reason": "Explored", "lastTransitionTime": now}}
	}
	switch o.Resource {
	case "deployments.apps":
		conditions := available("Available")
		conditions[0].(map[string]any)["lastUpdateTime"] = now
		return "v1", map[string]any{"observedGeneration": o.GetGeneration(), "replicas": replicas, "updatedReplicas": replicas,
			"readyReplicas": ready, "availableReplicas": ready, "unavailableReplicas": replicas - ready, "conditions": conditions}
	case "statefulsets.apps":
		return "v1", map[string]any{"observedGeneration": o.GetGeneration(), "replicas": replicas, "updatedReplicas": replicas,
			"currentReplicas": replicas, "readyReplicas": ready, "availableReplicas": ready, "currentRevision": "1", "updateRevision": "1"}
	case "replicasets.apps":
		return "v1", map[string]any{"observedGeneration": o.GetGeneration(), "replicas": replicas, "fullyLabeledReplicas": replicas,
			"readyReplicas": ready, "availableReplicas": ready}
	case "daemonsets.apps":
		ready := min(ready, 1)
		return "v1", map[string]any{"observedGeneration": o.GetGeneration(), "currentNumberScheduled": int64(1), "desiredNumberScheduled": int64(1),
			"updatedNumberScheduled": int64(1), "numberMisscheduled": int64(0), "numberReady": ready, "numberAvailable": ready, "numberUnavailable": 1 - ready}
	case "pods":
		return "v1", map[string]any{"phase": "Running", "conditions": available("Ready")}
	}
	return "", nil
}
