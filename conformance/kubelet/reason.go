package main

import (
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/conformance/kubelet/trace"
)

// reason is why pods differ.
type reason struct {
	name, why string
	// explains reports whether one difference of a pod has the reason.
	explains func(line string, kubelet, agent *trace.Trace) bool
}

// reasonOf returns the reason why a pod differs, which explains all of its differences, and nil if it is not known.
func reasonOf(lines []string, kubelet, agent *trace.Trace) *reason {
	for i := range reasons {
		if !slices.ContainsFunc(lines, func(line string) bool { return !reasons[i].explains(line, kubelet, agent) }) {
			return &reasons[i]
		}
	}
	return nil
}

// reasons are the known reasons.
var reasons = []reason{
	{"phase", "The kubelet writes the end of the last containers and the phase that follows from it one after the other; the agent writes both at once.", phase},
	{"lost", "A container waits for its next start when its pod ends. The agent shows at once that it waits, so that it is lost; the kubelet shows that with the next sync, which did not come any more.", lost},
	{"sync", "A container with a probe has ended for good. The kubelet begins its probes anew with each sync; they end at once, which has the pod synced again each second. With each sync it records a back-off and probes readiness.", sync},
	{"back-off", "A failed probe ends a container. Whether the next start waits follows from how long ago the start before ended, and so from the random part of the kubelet's last wait.", backOff},
	{"race", "The end of the pod (its deletion, its deadline or the end of the last container) came while the kubelet had not yet seen what its containers did, or had not yet begun what it does after a random time. Until then both did the same.",
		func(_ string, kubelet, agent *trace.Trace) bool { return trace.Race(kubelet, agent) }},
}

// phase reports whether only the phase differs, and the conditions that follow from it: the pod is over for one of the two.
func phase(line string, _, _ *trace.Trace) bool {
	over := func(agent string) bool {
		return strings.Contains(line, "\n"+agent+": phase Succeeded ") || strings.Contains(line, "\n"+agent+": phase Failed ")
	}
	return strings.HasPrefix(line, "conditions of") && over("kubelet") != over("agent")
}

// sync reports whether the kubelet has recorded a back-off more often, or has seen the readiness of a container earlier, because it syncs the pod each second.
func sync(line string, kubelet, _ *trace.Trace) bool {
	return kubelet.Resynced() && (strings.HasPrefix(line, "event Warning BackOff ") || strings.HasPrefix(line, "container ") && strings.Contains(line, "ready "))
}

// backOff reports whether the container of a difference has waited, and has been ended by a probe.
func backOff(line string, kubelet, agent *trace.Trace) bool {
	container := strings.TrimRight(strings.Fields(strings.TrimPrefix(line, "container "))[0], ":,")
	if _, after, ok := strings.Cut(line, "ontainers{"); ok && strings.HasPrefix(line, "event ") {
		container, _, _ = strings.Cut(after, "}")
	}
	return kubelet.Unhealthy(container) && agent.Unhealthy(container) && kubelet.Waits(container, "CrashLoopBackOff")
}

// lost reports whether only the agent shows a container of a pod that is over as lost.
func lost(line string, _, agent *trace.Trace) bool {
	container, what, _ := strings.Cut(strings.TrimPrefix(line, "container "), ": ")
	return strings.HasPrefix(line, "container ") && strings.HasPrefix(what, "only the agent has") && strings.Contains(what, "ContainerStatusUnknown") && agent.Waits(container, "CrashLoopBackOff")
}
