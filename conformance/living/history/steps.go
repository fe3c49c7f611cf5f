package history

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func create(what, manifest string, images ...string) Step {
	return Step{What: what, images: images, Do: func(ctx context.Context, w World) error { return w.Create(ctx, manifest) }}
}

// until adds conditions to a step, which have to hold at the same time.
func (s Step) until(conditions ...func(World) bool) Step {
	s.Until = func(w World) bool {
		return !slices.ContainsFunc(conditions, func(holds func(World) bool) bool { return !holds(w) })
	}
	return s
}

func patch(kind, name, patch string, images ...string) Step {
	return Step{What: fmt.Sprintf("patch %s %s with %s", kind, name, patch), images: images, Do: func(ctx context.Context, w World) error { return w.Patch(ctx, kind, name, patch) }}
}

// setImage gives the container of a workload another image.
func setImage(kind, name, image string) Step {
	return patch(kind, name, fmt.Sprintf("{spec: {template: {spec: {containers: [{name: c, image: %s}]}}}}", image), image)
}

func scale(kind, name string, replicas int) Step {
	return Step{What: fmt.Sprintf("scale %s %s to %d", kind, name, replicas), Do: func(ctx context.Context, w World) error { return w.Scale(ctx, kind, name, replicas) }}
}

func remove(kind, name, propagation string) Step {
	return Step{What: fmt.Sprintf("delete %s %s %s", kind, name, propagation), Do: func(ctx context.Context, w World) error { return w.Delete(ctx, kind, name, propagation) }}
}

func removeNow(kind, name string) Step {
	return Step{What: fmt.Sprintf("delete %s %s by force", kind, name), Do: func(ctx context.Context, w World) error { return w.DeleteNow(ctx, kind, name) }}
}

// podsOf returns the names of the Pods of an app that have not finished.
func podsOf(w World, app string) []string {
	return pods(w, func(p *corev1.Pod) bool { return p.Labels["app"] == app })
}

// pods returns the names of Pods that have not finished.
func pods(w World, matches func(*corev1.Pod) bool) []string {
	var names []string
	for _, object := range w.All("Pod") {
		var p corev1.Pod
		if as(object, &p) && matches(&p) && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			names = append(names, p.Name)
		}
	}
	return names
}

// removePods deletes Pods of an app, at most n.
func removePods(app string, n int) Step {
	return Step{What: fmt.Sprintf("delete %d Pods of %s", n, app), Do: func(ctx context.Context, w World) error {
		names := podsOf(w, app)
		for _, name := range names[:min(n, len(names))] {
			if err := w.Delete(ctx, "Pod", name, ""); err != nil {
				return err
			}
		}
		return nil
	}}
}

// evict evicts all Pods of an app.
func evict(app string) Step {
	return Step{What: "evict the Pods of " + app, Do: func(ctx context.Context, w World) error { return w.Evict(ctx, podsOf(w, app)) }}
}

func cordon(node string) Step {
	return patch("Node", node, "{spec: {unschedulable: true}}")
}

func uncordon(node string) Step {
	return patch("Node", node, "{spec: {unschedulable: null}}")
}

// drain cordons a Node, and evicts its Pods except those of DaemonSets.
func drain(node string) Step {
	return Step{What: "drain " + node, Do: func(ctx context.Context, w World) error {
		if err := w.Patch(ctx, "Node", node, "{spec: {unschedulable: true}}"); err != nil {
			return err
		}
		return w.Evict(ctx, pods(w, func(p *corev1.Pod) bool {
			return p.Spec.NodeName == node && !slices.ContainsFunc(p.OwnerReferences, ownedByDaemonSet)
		}))
	}}
}

// taint adds a taint to a Node.
func taint(node, effect string) Step {
	return patch("Node", node, "{spec: {taints: [{key: maintenance, effect: "+effect+"}]}}")
}

func untaint(node string) Step { return patch("Node", node, "{spec: {taints: null}}") }

// jobEnds reports whether Jobs have ended.
func jobEnds(name string) func(World) bool {
	return func(w World) bool {
		var j batchv1.Job
		object := w.Get("Job", name)
		return object != nil && as(object, &j) && slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
			return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
		})
	}
}

// restarts reports whether the first containers of n Pods of an app have restarted and are in a state: "" is running,
// anything else is the reason why they wait.
func restarts(app string, n int, count int32, waiting string) func(World) bool {
	return func(w World) bool {
		matching := 0
		for _, object := range w.All("Pod") {
			var p corev1.Pod
			if !as(object, &p) || p.Labels["app"] != app || len(p.Status.ContainerStatuses) == 0 {
				continue
			}
			s := p.Status.ContainerStatuses[0]
			if s.RestartCount == count && (waiting == "" && s.State.Running != nil || s.State.Waiting != nil && s.State.Waiting.Reason == waiting) {
				matching++
			}
		}
		return matching >= n
	}
}

// gone reports whether an object is not there.
func gone(kind, name string) func(World) bool {
	return func(w World) bool { return w.Get(kind, name) == nil }
}

// as converts an object.
func as(object *unstructured.Unstructured, into any) bool {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into) == nil
}

func ownedByDaemonSet(r metav1.OwnerReference) bool { return r.Kind == "DaemonSet" }

// condition reports whether an object has a condition with a status.
func condition(kind, name, conditionType, status string) func(World) bool {
	return func(w World) bool {
		object := w.Get(kind, name)
		if object == nil {
			return false
		}
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(c any) bool {
			m, _ := c.(map[string]any)
			return m["type"] == conditionType && m["status"] == status
		})
	}
}

// updated reports whether a Deployment has only Pods that are up to date and available.
func updated(name string, replicas int64) func(World) bool {
	return func(w World) bool {
		return status(w.Get("Deployment", name), replicas, "replicas", "updatedReplicas", "availableReplicas")
	}
}

// status reports whether fields of a status are a number, and the status is that of the present specification.
func status(object *unstructured.Unstructured, want int64, fields ...string) bool {
	if object == nil {
		return false
	}
	for _, field := range fields {
		if n, _, _ := unstructured.NestedInt64(object.Object, "status", field); n != want {
			return false
		}
	}
	observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	return observed == object.GetGeneration()
}

// jobOfCronJobEnds reports whether a CronJob has a Job that has ended.
func jobOfCronJobEnds(w World) bool {
	return slices.ContainsFunc(w.All("Job"), func(o *unstructured.Unstructured) bool { return jobEnds(o.GetName())(w) })
}

// podsGone reports whether no Pod is on a Node.
func podsGone(node string) func(World) bool {
	return func(w World) bool {
		return !slices.ContainsFunc(w.All("Pod"), func(o *unstructured.Unstructured) bool {
			name, _, _ := unstructured.NestedString(o.Object, "spec", "nodeName")
			return name == node
		})
	}
}

// with adds images that the step uses.
func (s Step) with(images ...string) Step {
	s.images = append(slices.Clone(s.images), images...)
	return s
}
