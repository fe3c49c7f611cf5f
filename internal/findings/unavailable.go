package findings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/printable"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// workload is an object that owns Pods, or a Pod without an owner.
type workload struct{ group, kind, namespace, name string }

func (w workload) String() string { return w.kind + " " + w.namespace + "/" + w.name }

// state has the current objects of some kinds.
type state map[workload]gjson.Result

// read adds the objects of a kind.
func (s state) read(c Source, group, kind string) {
	res := c.Registry.Kind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind})
	if res == nil {
		return
	}
	list, err := c.Store.List(res.Prefix, store.ListOptions{})
	if err != nil {
		return
	}
	for _, record := range list.Records {
		if text, err := view.Text(res.Storage, record); err == nil {
			s[workload{group, kind, res.NamespaceOf(record.Key), res.NameOf(record.Key)}] = gjson.Parse(text)
		}
	}
}

// ownerOf returns the topmost owner of a Pod that has been read: a Deployment, not its ReplicaSet. Without an owner it
// returns the Pod.
func (s state) ownerOf(pod workload) workload {
	key := pod
	for range 3 { // owners may form a cycle
		ref := s[key].Get(`metadata.ownerReferences.#(controller==true)`)
		group, _, _ := strings.Cut(ref.Get("apiVersion").Str, "/")
		owner := workload{group, ref.Get("kind").Str, key.namespace, ref.Get("name").Str}
		if !s[owner].Exists() || owner == key {
			return key
		}
		key = owner
	}
	return key
}

// unavailable lists the workloads, Pods and claims that are not available, with the reason. Pods of one workload with
// the same reason are one line. It reads statuses, so it lists nothing in a cluster without controllers, scheduler and
// kubelets.
func (f changes) unavailable(c Source) (lines []string) {
	states := state{}
	states.read(c, "", "Pod")
	pods := slices.SortedFunc(maps.Keys(states), func(a, b workload) int { return strings.Compare(a.String(), b.String()) })
	for _, kind := range []string{"ReplicaSet", "Deployment", "StatefulSet", "DaemonSet"} {
		states.read(c, "apps", kind)
	}
	states.read(c, "", "ReplicationController")
	states.read(c, "batch", "Job")

	type cause struct {
		key  workload
		text string
	}
	counts, first := map[cause]int{}, map[cause]workload{}
	explained := map[workload]bool{}
	var causes []cause
	for _, pod := range pods {
		text := causeOf(states[pod])
		owner := states.ownerOf(pod)
		if text == "" || owner != pod && shortfall(owner, states[owner]) == "" {
			continue
		}
		found := cause{owner, text}
		if counts[found]++; counts[found] == 1 {
			causes, first[found], explained[owner] = append(causes, found), pod, true
		}
	}
	for _, found := range causes {
		pod := first[found]
		name := pod.String()
		line := ""
		if found.key != pod {
			line, name = fmt.Sprintf("%s %s: ", found.key, shortfall(found.key, states[found.key])), "pod "+pod.name
		}
		if node := states[pod].Get("spec.nodeName").Str; node != "" {
			name += " on " + node
		}
		line += name + " " + found.text
		if more := counts[found] - 1; more > 0 {
			line += fmt.Sprintf(" (and %s)", printable.Count(more, "more pod"))
		}
		lines = append(lines, line)
	}
	for key, object := range states {
		if why := ownReason(key, object); why != "" && !explained[key] {
			lines = append(lines, fmt.Sprintf("%s %s: %s", key, shortfall(key, object), why))
		}
	}
	lines = append(lines, f.pendingClaims(c)...)
	slices.Sort(lines)
	return lines
}

// condition returns a condition of an object.
func condition(object gjson.Result, kind string) gjson.Result {
	return object.Get(`status.conditions.#(type=="` + kind + `")`)
}

// reasonOf returns the reason and the message of a condition, a container state or a status.
func reasonOf(object gjson.Result) string {
	reason, message := object.Get("reason").Str, object.Get("message").Str
	if reason != "" && message != "" {
		return reason + ": " + message
	}
	return reason + message
}

// shortfall describes what a workload lacks; empty: nothing.
func shortfall(key workload, object gjson.Result) string {
	want, has := max(object.Get("spec.replicas").Int(), object.Get("status.replicas").Int()), object.Get("status.availableReplicas").Int()
	switch key.kind {
	case "Pod":
		return ""
	case "Job":
		switch {
		case condition(object, "Complete").Get("status").Str == "True":
			return ""
		case condition(object, "Failed").Get("status").Str == "True":
			return "has failed: " + reasonOf(condition(object, "Failed"))
		}
		return "is not complete"
	case "DaemonSet":
		want, has = object.Get("status.desiredNumberScheduled").Int(), object.Get("status.numberAvailable").Int()
	}
	switch {
	case has >= want:
		return ""
	case has == 0 || condition(object, "Available").Get("status").Str == "False":
		return "is not available"
	}
	return fmt.Sprintf("has %d of %d pods available", has, want)
}

// ownReason returns why a workload is not available if none of its Pods shows the reason.
func ownReason(key workload, object gjson.Result) string {
	if key.kind == "Pod" || key.kind == "ReplicaSet" && object.Get(`metadata.ownerReferences.#(controller==true)`).Exists() || shortfall(key, object) == "" {
		return ""
	}
	if failure := condition(object, "ReplicaFailure"); failure.Get("status").Str == "True" {
		return reasonOf(failure)
	}
	if key.kind == "Job" && condition(object, "Failed").Get("status").Str == "True" {
		return "none of its pods is left"
	}
	return ""
}

// causeOf returns why a Pod does not run or is not ready; empty: it does and is, or it is starting or ending.
func causeOf(pod gjson.Result) string {
	phase := pod.Get("status.phase").Str
	if phase == "Succeeded" || pod.Get("metadata.deletionTimestamp").Exists() {
		return ""
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, status := range pod.Get("status." + list).Array() {
			waiting, ended := status.Get("state.waiting"), status.Get("state.terminated")
			switch reason := waiting.Get("reason").Str; {
			case reason == "CrashLoopBackOff":
				return "is in CrashLoopBackOff: " + exitOf(status.Get("lastState.terminated"))
			case reason != "" && reason != "ContainerCreating" && reason != "PodInitializing":
				return "is waiting: " + reasonOf(waiting)
			case ended.Get("exitCode").Int() != 0 && phase == "Failed":
				return "has failed: " + exitOf(ended)
			}
		}
	}
	if phase == "Failed" {
		return "has failed: " + reasonOf(pod.Get("status"))
	}
	if scheduled := condition(pod, "PodScheduled"); scheduled.Get("status").Str == "False" {
		return "is not scheduled: " + reasonOf(scheduled)
	}
	if ready := condition(pod, "Ready"); phase == "Running" && ready.Get("status").Str == "False" {
		return "is not ready: " + reasonOf(ready)
	}
	return ""
}

// exitOf returns the exit code of a container, with reason and message.
func exitOf(ended gjson.Result) string {
	text := fmt.Sprintf("exit code %d", ended.Get("exitCode").Int())
	if reason := ended.Get("reason").Str; reason != "" && reason != "Error" && reason != "Completed" {
		text = reason
	}
	if message := ended.Get("message").Str; message != "" {
		text += ": " + message
	}
	return text
}

// pendingClaims lists the Pending claims with their latest Warning Event. It leaves out claims without one.
func (f changes) pendingClaims(c Source) (lines []string) {
	claims := state{}
	claims.read(c, "", "PersistentVolumeClaim")
	for claim, object := range claims {
		if object.Get("status.phase").Str != "Pending" {
			continue
		}
		var last warned
		for _, w := range f.warned {
			if w.event.Object == "persistentvolumeclaims "+claim.namespace+"/"+claim.name && w.by.Request >= last.by.Request {
				last = w
			}
		}
		if last.event.Reason != "" {
			lines = append(lines, fmt.Sprintf("%s is Pending: %s: %s", claim, last.event.Reason, last.event.Message))
		}
	}
	return lines
}
