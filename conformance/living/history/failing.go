package history

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// failingNodes are histories of Nodes whose heartbeats stop. Until a Node is taken for lost, 50 seconds pass. Pods of the workloads
// are on n1, or one is on each Node. When all Nodes have failed and come back, it is a matter of milliseconds which Pods the real
// controllers evict meanwhile, so that no history does that.
func failingNodes() []History {
	return []History{
		{Name: "a Node fails", Steps: []Step{
			workload("DaemonSet", "agent", "web", 0), service("web"), deployment("web", "web", 3, spread("web")), budget("web", "minAvailable", "2"),
			stop("n1").until(notReady("n1", "web")), evict("web"),
		}},
		{Name: "a Node fails and comes back", Steps: []Step{
			workload("DaemonSet", "agent", "web", 0), service("web"), deployment("web", "web", 3, spread("web")), stop("n1").until(notReady("n1", "web")),
			resume("n1").until(isReady("n1")),
		}},
		{Name: "a cordoned Node fails and comes back", Steps: []Step{
			deployment("web", "web", 1, prefers("n1")), cordon("n1"), stop("n1").until(notReady("n1", "web")), resume("n1").until(isReady("n1")), removePods("web", 1), uncordon("n1"),
		}},
		{Name: "Pods of a Deployment leave a Node that has failed", Steps: []Step{
			service("web"), deployment("web", "web", 1, prefers("n1"), tolerates(4)), stop("n1").until(terminating("web")),
		}},
		{Name: "Pods of a Deployment leave a Node that has failed and comes back", Steps: []Step{
			deployment("web", "web", 1, prefers("n1"), tolerates(4)), stop("n1").until(terminating("web")), resume("n1").until(isReady("n1")),
		}},
		{Name: "a Pod of a StatefulSet waits for its Node", Steps: []Step{
			service("db", set("None", "spec", "clusterIP")), workload("StatefulSet", "db", "web", 1, prefers("n1"), tolerates(4)), stop("n1").until(terminating("db")),
		}},
		{Name: "a Pod of a StatefulSet waits until its Node comes back", Steps: []Step{
			workload("StatefulSet", "db", "web", 1, onNode("n1"), tolerates(4)), stop("n1").until(terminating("db")), resume("n1").until(isReady("n1"), ready("StatefulSet", "db", 1)),
		}},
		{Name: "a Pod of a StatefulSet is deleted by force", Steps: []Step{
			workload("StatefulSet", "db", "web", 1, prefers("n1"), tolerates(4)), stop("n1").until(terminating("db")), removeNow("Pod", "db-0"), resume("n1").until(isReady("n1")),
		}},
		{Name: "a DaemonSet rolls out while a Node has failed", Steps: []Step{
			workload("DaemonSet", "agent", "web", 0), stop("n1").until(notReady("n1", "agent")), setImage("DaemonSet", "agent", "web2"), resume("n1").until(isReady("n1"), ready("DaemonSet", "agent", Nodes)),
		}},
		{Name: "a Job on a Node that fails", Steps: []Step{
			job("task", "long", prefers("n1"), tolerates(4)), stop("n1").until(terminating("task")), resume("n1").until(isReady("n1")),
		}},
		{Name: "a Job waits for the end of its Pod on a Node that fails", Steps: []Step{
			job("task", "long", prefers("n1"), tolerates(4), set("Failed", "spec", "podReplacementPolicy"),
				set("{rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}", "spec", "podFailurePolicy")),
			stop("n1").until(terminating("task")), resume("n1").until(isReady("n1")),
		}},
		{Name: "a Node that has failed is out of service", Steps: []Step{
			workload("StatefulSet", "db", "web", 1, prefers("n1")), stop("n1").until(notReady("n1", "db")),
			patch("Node", "n1", "{spec: {taints: ["+unreachable("NoSchedule")+", "+unreachable("NoExecute")+", {key: node.kubernetes.io/out-of-service, value: nodeshutdown, effect: NoExecute}]}}").until(ready("StatefulSet", "db", 1)),
		}},
		{Name: "a Node that has failed is drained", Steps: []Step{
			deployment("web", "web", 3, spread("web")), budget("web", "maxUnavailable", "1"), stop("n1").until(notReady("n1", "web")), drain("n1"),
		}},
		{Name: "a Node that has failed is deleted", Steps: []Step{
			deployment("web", "web", 1, prefers("n1")), stop("n1").until(notReady("n1", "web")), remove("Node", "n1", "").until(podsGone("n1")),
		}},
		{Name: "all Nodes of a zone fail", Steps: []Step{
			deployment("web", "web", 3, spread("web"), tolerates(4)), stop("n1", "n3").until(terminating("web", "web")),
		}},
		{Name: "all Nodes fail", Steps: []Step{
			deployment("web", "web", 3, spread("web"), tolerates(4)), stop("n1", "n2", "n3").until(notReady("n1", "web")),
		}},
		{Name: "a Node has no space", Steps: []Step{
			breaks(DiskIsFull, "n1"), deployment("web", "web", 1, prefers("n1")), workload("DaemonSet", "agent", "web", 0), breaks(DiskIsFree, "n1"), removePods("web", 1),
		}},
	}
}

func breaks(how Fault, nodes ...string) Step {
	return Step{What: fmt.Sprintf("%s of %s", how, strings.Join(nodes, ", ")), Do: func(ctx context.Context, w World) error {
		for _, n := range nodes {
			if err := w.Break(ctx, n, how); err != nil {
				return err
			}
		}
		return nil
	}}
}

func stop(nodes ...string) Step   { return breaks(StopHeartbeats, nodes...) }
func resume(nodes ...string) Step { return breaks(ResumeHeartbeats, nodes...) }

// prefers has Pods run on a Node as long as they can.
func prefers(node string) change {
	return inPod("{nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: ["+node+"]}]}}]}}", "affinity")
}

// tolerates has Pods stay for a time on a Node that has failed, in place of the 300 seconds of all Pods.
func tolerates(seconds int) change {
	return inPod(fmt.Sprintf("[{key: %s, operator: Exists, effect: NoExecute, tolerationSeconds: %d}, {key: %s, operator: Exists, effect: NoExecute, tolerationSeconds: %[2]d}]",
		corev1.TaintNodeUnreachable, seconds, corev1.TaintNodeNotReady), "tolerations")
}

// unreachable is the taint of a Node that has failed.
func unreachable(effect string) string {
	return "{key: " + corev1.TaintNodeUnreachable + ", effect: " + effect + "}"
}

// notReady reports whether a Node has failed, and an app has a Pod there that is not ready.
func notReady(node, app string) func(World) bool {
	return func(w World) bool {
		return condition("Node", node, "Ready", "Unknown")(w) && len(pods(w, func(p *corev1.Pod) bool {
			return p.Labels[label(p)] == app && p.Spec.NodeName == node && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse
			})
		})) > 0
	}
}

// isReady reports whether a Node is ready and can be scheduled to unless it is cordoned.
func isReady(node string) func(World) bool {
	return func(w World) bool {
		var n corev1.Node
		object := w.Get("Node", node)
		return condition("Node", node, "Ready", "True")(w) && as(object, &n) && !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnreachable })
	}
}

// terminating reports whether a Pod of each app is being deleted. An app that is named twice has two.
func terminating(apps ...string) func(World) bool {
	return func(w World) bool {
		want := map[string]int{}
		for _, app := range apps {
			want[app]++
		}
		for app, n := range want {
			if len(pods(w, func(p *corev1.Pod) bool { return p.Labels[label(p)] == app && p.DeletionTimestamp != nil })) < n {
				return false
			}
		}
		return true
	}
}

// label returns the label that names the app of a Pod: Pods of Jobs have no other than that of the Job.
func label(p *corev1.Pod) string {
	if _, ok := p.Labels["job-name"]; ok {
		return "job-name"
	}
	return "app"
}

// ready reports whether a workload has as many Pods that are ready, all of its present revision.
func ready(kind, name string, replicas int64) func(World) bool {
	fields := []string{"readyReplicas", "updatedReplicas"}
	if kind == "DaemonSet" {
		fields = []string{"numberReady", "updatedNumberScheduled"}
	}
	return func(w World) bool { return status(w.Get(kind, name), replicas, fields...) }
}
