package play

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// suffix is what generated names end with.
const suffix = `[bcdfghjklmnpqrstvwxz2456789]{5}`

var generatedSuffix = regexp.MustCompile("^" + suffix + "$")

// cronMinute is the number of a minute in the names of the Jobs of CronJobs. Bubbles begin in the year 2000.
var cronMinute = regexp.MustCompile(`-[12]\d{7}\b`)

// masks replace what differs between two clusters: times, uids of objects that are not compared, addresses, suffixes of volumes.
var masks = []struct {
	pattern *regexp.Regexp
	mask    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+(/\d+)?\b`), "<ip>"},
	{regexp.MustCompile(`kube-api-access-` + suffix), "kube-api-access-<suffix>"},
	// How long a pull takes, which the agent writes with milliseconds.
	{regexp.MustCompile(`in \d+(\.\d+)?m?s \(\d+(\.\d+)?m?s including waiting\)`), "in <duration>"},
	// The scheduler and its machine.
	{regexp.MustCompile(`"reportingInstance":"default-scheduler-[^"]*"`), `"reportingInstance":"default-scheduler-<host>"`},
}

// nodes are masks for what is not pinned to a Node. The scheduler chooses by chance among Nodes that fit equally well.
var nodes = []struct {
	pattern *regexp.Regexp
	mask    string
}{
	{regexp.MustCompile(`\bn[1-9]\b`), "<node>"},
	{regexp.MustCompile(`\bregion-1[ab]\b`), "<zone>"},
}

func masked(text string, withNodes bool) string {
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.mask)
	}
	if !withNodes {
		for _, m := range nodes {
			text = m.pattern.ReplaceAllString(text, m.mask)
		}
	}
	return text
}

// races are Events whose number depends on milliseconds, such as which informer of a controller is the first to have a change. Each
// stands there once, without its count, or is left out.
var races = []struct {
	pattern *regexp.Regexp
	keep    string
}{
	// The message has how long the pull took, so that two of them count as one Event only if that is equal.
	{regexp.MustCompile(`Normal Pulled x\d+ `), "Normal Pulled "},
	// The volume binder says this once or more often, until it has the claim with its volume.
	{regexp.MustCompile(`Normal ExternalProvisioning x\d+ `), "Normal ExternalProvisioning "},
	// The volume binder has a claim before or after its Pod.
	{regexp.MustCompile(`Normal (WaitForFirstConsumer|WaitForPodScheduled) x\d+ .*`), "Normal Waiting"},
	// How often the scheduler tries depends on the order in which it sees what other Pods do.
	{regexp.MustCompile(`Warning FailedScheduling x\d+ `), "Warning FailedScheduling "},
	// The scheduler has a Pod before its claim, and tries again after a second.
	{regexp.MustCompile(`^.*Warning FailedScheduling .*(persistentvolumeclaim "[^"]*" not found|waiting for ephemeral volume controller).*\n`), ""},
	// How often a probe fails until the container is ready is the node's, and depends on milliseconds.
	{regexp.MustCompile(`Warning Unhealthy x\d+ `), "Warning Unhealthy "},
	// An autoscaler says this each time it looks.
	{regexp.MustCompile(`^(HorizontalPodAutoscaler \S+: Warning \S+) x\d+ `), "$1 "},
	// These controllers delete a Pod once more if they have not seen yet that the Pod is being deleted.
	{regexp.MustCompile(`^((StatefulSet|DaemonSet) \S+: Normal SuccessfulDelete) x\d+ `), "$1 "},
}

// withoutRace returns the line of an Event as it is compared; it may be empty.
func withoutRace(line string) string {
	for _, r := range races {
		line = r.pattern.ReplaceAllString(line, r.keep)
	}
	return line
}

// counted is what the line of an Event has unless a race has removed it.
var counted = regexp.MustCompile(` x\d+ `)

// once sorts the lines of Events, and keeps one of those that are equal and have no count.
func once(lines []string) []string {
	slices.Sort(lines)
	var kept []string
	for i, line := range lines {
		if i == 0 || line != lines[i-1] || counted.MatchString(line) {
			kept = append(kept, line)
		}
	}
	return kept
}

// strip removes what is not compared.
func strip(o *unstructured.Unstructured) {
	for _, fields := range [][]string{
		{"metadata", "resourceVersion"}, {"metadata", "managedFields"}, {"metadata", "creationTimestamp"}, {"metadata", "uid"}, {"spec", "claimRef", "resourceVersion"},
	} {
		unstructured.RemoveNestedField(o.Object, fields...)
	}
	switch o.GetKind() {
	case "EndpointSlice", "Endpoints":
		// How many writes the controller needs, and whether it takes the last one for a change of a Pod, depends on the changes that it
		// sees together.
		unstructured.RemoveNestedField(o.Object, "metadata", "generation")
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "endpoints.kubernetes.io/last-change-trigger-time")
		if len(o.GetAnnotations()) == 0 {
			unstructured.RemoveNestedField(o.Object, "metadata", "annotations")
		}
	case "ConfigMap":
		delete(o.Object, "data") // the certificate of the cluster
	case "Service":
		each(o.Object, "spec", "ports", func(port map[string]any) { delete(port, "nodePort") })
	case "Node":
		// They follow from where the scheduler has placed Pods.
		unstructured.RemoveNestedField(o.Object, "status", "images")
	case "Pod":
		for _, list := range []string{"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"} {
			each(o.Object, "status", list, func(status map[string]any) {
				delete(status, "containerID")
				for _, state := range []string{"state", "lastState"} {
					unstructured.RemoveNestedField(status, state, "terminated", "containerID")
				}
			})
		}
	}
}

// each calls a function for the elements of a list.
func each(content map[string]any, field, list string, f func(map[string]any)) {
	elements, _, _ := unstructured.NestedFieldNoCopy(content, field, list)
	items, _ := elements.([]any)
	for _, e := range items {
		if element, ok := e.(map[string]any); ok {
			f(element)
		}
	}
}

// unordered are lists whose order is a matter of chance: controllers make them from sets, or append what comes first.
var unordered = []string{"conditions", "endpoints", "addresses", "notReadyAddresses", "succeeded", "failed", "taints", "subsets"}

// sortLists sorts them.
func sortLists(content any) {
	switch value := content.(type) {
	case map[string]any:
		for field, v := range value {
			sortLists(v)
			if list, ok := v.([]any); ok && slices.Contains(unordered, field) {
				slices.SortFunc(list, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
		}
	case []any:
		for _, v := range value {
			sortLists(v)
		}
	}
}

// isPinned reports whether an object is a Pod that can run on one Node only.
func isPinned(object *unstructured.Unstructured) bool {
	var pod corev1.Pod
	if object.GetKind() != "Pod" || convert(object, &pod) != nil {
		return false
	}
	if pod.Spec.NodeSelector[corev1.LabelHostname] != "" {
		return true
	}
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	terms := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	return len(terms) == 1 && len(terms[0].MatchFields) == 1 // a Pod of a DaemonSet
}

// convert converts an object to its type.
func convert(object *unstructured.Unstructured, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into)
}
