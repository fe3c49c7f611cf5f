package explore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/explore/internal/state"
)

// runWorkloads sets the status of the workloads of the trial as if their pods were running, or failing, and
// of claims as if they were bound. It takes the place of controllers and kubelets. It reports whether it has
// changed anything.
func (p *player) runWorkloads() (changed bool) {
	changed = p.releaseClaims()
	for _, o := range p.objectsOf(isWorkload) {
		if p.isSubject(o.Resource) {
			continue
		}
		version, status := p.workloadStatus(o)
		if status == nil {
			continue
		}
		former, _, _ := unstructured.NestedMap(o.Object, "status")
		merged := runtime.DeepCopyJSON(former)
		if merged == nil {
			merged = map[string]any{}
		}
		maps.Copy(merged, status)
		if equality.Semantic.DeepEqual(withoutZeros(former), withoutZeros(merged)) {
			continue
		}
		u := o.DeepCopy()
		u.Object["status"] = merged
		resource := schema.GroupVersionResource{Group: o.GroupVersionKind().Group, Version: version, Resource: schema.ParseGroupResource(o.Resource).Resource}
		if _, err := p.client.Resource(resource).Namespace(o.GetNamespace()).UpdateStatus(context.Background(), u, updateOptions); err == nil {
			changed = true
		}
	}
	return changed
}

// isWorkload reports whether the objects of a resource have a status for runWorkloads to set.
func isWorkload(resource string) bool {
	switch resource {
	case "deployments.apps", "statefulsets.apps", "replicasets.apps", "daemonsets.apps", "pods", "jobs.batch", "persistentvolumeclaims":
		return true
	}
	return false
}

// withoutZeros returns a value without zeros, empty texts and nulls, because the server stores or returns
// some of them: lastProbeTime of a Pod's condition is null.
func withoutZeros(value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, field := range value {
			if field != nil && field != int64(0) && field != "" && field != false {
				kept[name] = withoutZeros(field)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(value))
		for i, item := range value {
			kept[i] = withoutZeros(item)
		}
		return kept
	}
	return value
}

// protection is the finalizer of claims that upstream's pvc-protection-controller removes.
const protection = "kubernetes.io/pvc-protection"

// releaseClaims removes the finalizer of claims that are being deleted and that no Pod uses, as upstream's
// pvc-protection-controller does. It reports whether there was one. A pending Pod does not use its claim yet,
// because the scheduler does not bind a Pod whose claim is being deleted.
func (p *player) releaseClaims() (changed bool) {
	claims := p.objectsOf(func(resource string) bool { return resource == "persistentvolumeclaims" })
	if !slices.ContainsFunc(claims, func(o state.Object) bool { return o.GetDeletionTimestamp() != nil }) {
		return false
	}
	used := map[string]bool{}
	for _, pod := range p.objectsOf(func(resource string) bool { return resource == "pods" }) {
		if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase == "" || phase == "Pending" {
			continue
		}
		volumes, _, _ := unstructured.NestedSlice(pod.Object, "spec", "volumes")
		for _, v := range volumes {
			if volume, ok := v.(map[string]any); ok {
				name, _, _ := unstructured.NestedString(volume, "persistentVolumeClaim", "claimName")
				used[pod.GetNamespace()+"/"+name] = true
			}
		}
	}
	for _, claim := range claims {
		if claim.GetDeletionTimestamp() == nil || used[claim.GetNamespace()+"/"+claim.GetName()] || !slices.Contains(claim.GetFinalizers(), protection) {
			continue
		}
		u := claim.DeepCopy()
		u.SetFinalizers(slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f == protection }))
		resource := schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
		if _, err := p.client.Resource(resource).Namespace(u.GetNamespace()).Update(context.Background(), u, updateOptions); err == nil {
			changed = true
		}
	}
	return changed
}

// withoutLingering returns objects in which claims that a step has deleted look undeleted: such a claim
// remains until its Pod ends, and nobody can undo the delete.
func (p *player) withoutLingering(objects []state.Object) []state.Object {
	kept := make([]state.Object, 0, len(objects))
	for _, o := range objects {
		if p.deletedClaims[o.GetUID()] {
			o.Unstructured = o.DeepCopy()
			o.SetDeletionTimestamp(nil)
			o.SetDeletionGracePeriodSeconds(nil)
		}
		kept = append(kept, o)
	}
	return kept
}

// workloadStatus returns the status that a workload has when its pods run, or fail; nil: it is not a workload.
func (p *player) workloadStatus(o state.Object) (version string, status map[string]any) {
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
	if former, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions"); len(former) > 0 {
		if first, ok := former[0].(map[string]any); ok && first["status"] == condition {
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
		return p.podStatus(o, available("Ready"))
	case "jobs.batch":
		return p.jobStatus(o)
	case "persistentvolumeclaims":
		modes, _, _ := unstructured.NestedSlice(o.Object, "spec", "accessModes")
		requests, _, _ := unstructured.NestedMap(o.Object, "spec", "resources", "requests")
		return "v1", map[string]any{"phase": "Bound", "accessModes": modes, "capacity": requests}
	}
	return "", nil
}

// podStatus returns the status of a Pod that runs or, if its restartPolicy is not Always, of one that has
// completed; nil: it has ended.
func (p *player) podStatus(o state.Object, ready []any) (version string, status map[string]any) {
	switch phase, _, _ := unstructured.NestedString(o.Object, "status", "phase"); phase {
	case "Succeeded", "Failed":
		return "", nil
	}
	policy, _, _ := unstructured.NestedString(o.Object, "spec", "restartPolicy")
	switch {
	case policy == "Always":
		return "v1", map[string]any{"phase": "Running", "conditions": ready}
	case p.failing && policy == "Never":
		return "v1", map[string]any{"phase": "Failed"}
	case p.failing:
		return "v1", map[string]any{"phase": "Running", "conditions": ready}
	}
	return "v1", map[string]any{"phase": "Succeeded"}
}

// jobStatus returns the status of a Job whose pods have succeeded; nil: they are failing, or the Job has ended.
func (p *player) jobStatus(o state.Object) (version string, status map[string]any) {
	suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
	ended, _, _ := unstructured.NestedString(o.Object, "status", "completionTime")
	if suspended || ended != "" {
		return "", nil
	}
	completions, found, _ := unstructured.NestedInt64(o.Object, "spec", "completions")
	if !found {
		completions = 1
	}
	now := time.Now().UTC().Format(time.RFC3339)
	started, _, _ := unstructured.NestedString(o.Object, "status", "startTime")
	if started == "" {
		started = now
	}
	if p.failing { // its pods are made again and again
		parallelism, found, _ := unstructured.NestedInt64(o.Object, "spec", "parallelism")
		if !found {
			parallelism = 1
		}
		return "v1", map[string]any{"active": min(parallelism, completions), "startTime": started, "uncountedTerminatedPods": map[string]any{}}
	}
	condition := func(kind string) any {
		return map[string]any{"type": kind, "status": "True", "reason": "CompletionsReached", "lastProbeTime": now, "lastTransitionTime": now}
	}
	status = map[string]any{"active": int64(0), "succeeded": completions, "startTime": started, "completionTime": now,
		"conditions": []any{condition("SuccessCriteriaMet"), condition("Complete")}, "uncountedTerminatedPods": map[string]any{}}
	if mode, _, _ := unstructured.NestedString(o.Object, "spec", "completionMode"); mode == "Indexed" {
		status["completedIndexes"] = "0"
		if completions > 1 {
			status["completedIndexes"] = fmt.Sprintf("0-%d", completions-1)
		}
	}
	return "v1", status
}
