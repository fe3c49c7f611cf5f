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
	{"syncs", "A container is in back-off. The kubelet syncs the pod for it, and records that, also when a probe takes the container that has ended for unready, and 10 to 15 seconds after a hook has failed.", syncs},
	{"limit", "Both have written the 25 Events about a pod that client-go writes at once. Which ones are dropped then follows from their order.", limit},
	{"met", "A probe fails for the last time in the second in which its container ends by itself. Whether the probe ends it, so that the next start does not wait, follows from random times.", met},
	{"unseen", "A container has ended while the kubelet starts or ends another one. The kubelet shows that afterwards, and goes on to probe its readiness until then.", unseen},
	{"hidden", "A short start of a container came together with one of another container, whose postStart hook failed: the kubelet shows both after the hook, when they have ended. The back-offs of the two met by chance.", hidden},
	{"kill", "A container has ended shortly before a probe ends another one. The kubelet saw both at once, and starts the first again after the other and its hook.", kill},
	{"later", "The deletion waits for a container that had started before it. Under the kubelet it had started later, after random times, by as much as the deletion takes longer.",
		func(line string, kubelet, agent *trace.Trace) bool {
			return strings.HasPrefix(line, "the deletion takes ") && trace.Later(kubelet, agent)
		}},
	{"config", "A ConfigMap is missing when the agent starts a container. The kubelet has waited for a random time before, for an init container that has failed, and finds it.", config},
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
	return kubelet.Unhealthy(container) && agent.Unhealthy(container) && (kubelet.Waits(container, "CrashLoopBackOff") || kubelet.BacksOff(container))
}

// lost reports whether only the agent shows a container of a pod that is over as lost.
func lost(line string, _, agent *trace.Trace) bool {
	container, what, _ := strings.Cut(strings.TrimPrefix(line, "container "), ": ")
	return strings.HasPrefix(line, "container ") && strings.HasPrefix(what, "only the agent has") && strings.Contains(what, "ContainerStatusUnknown") && agent.Waits(container, "CrashLoopBackOff")
}

// syncs reports whether only the count of a back-off differs, up to two for each start, of a container for which a kubelet syncs the pod more often.
func syncs(line string, kubelet, agent *trace.Trace) bool {
	event, ok := eventOf(line)
	more, less := kubelet.Count(event), agent.Count(event)
	return ok && strings.HasPrefix(event, "Warning BackOff ") && less > 0 && more > less && more <= less+2*kubelet.Starts(containerOf(event)) && kubelet.SyncedMore(containerOf(event))
}

// limit reports whether only the count of an Event differs, and both have written as many as client-go writes. One that lacks the Event had done so before the
// other recorded it.
func limit(line string, kubelet, agent *trace.Trace) bool {
	event, ok := eventOf(line)
	if !ok || !kubelet.Full() || !agent.Full() {
		return false
	}
	return kubelet.Count(event) > 0 && agent.Count(event) > 0 || kubelet.Drops(event, agent) || agent.Drops(event, kubelet)
}

// kill reports whether a difference is about a container whose start another one has delayed under the kubelet alone, or about that other one.
func kill(line string, kubelet, agent *trace.Trace) bool {
	rest, ok := strings.CutPrefix(line, "container ")
	if !ok {
		return false
	}
	name := rest[:strings.IndexAny(rest, ":, ")]
	delays := func(container, by string) bool {
		return kubelet.Blocked(container, by) && !agent.Blocked(container, by)
	}
	return slices.ContainsFunc(kubelet.Containers(), func(other string) bool { return delays(name, other) || delays(other, name) })
}

// met reports whether a difference is about a container that a probe has ended under one of the two alone, although all its starts ran as long, or about the
// phase, which follows from that.
func met(line string, kubelet, agent *trace.Trace) bool {
	return slices.ContainsFunc(kubelet.Containers(), func(c string) bool {
		if kubelet.Killed(c) == agent.Killed(c) || !trace.RanAsLong(kubelet, agent, c) {
			return false
		}
		event, ok := eventOf(line)
		return ok && containerOf(event) == c || strings.HasPrefix(line, "container "+c+":") || strings.HasPrefix(line, "container "+c+",") || strings.HasPrefix(line, "phase:")
	})
}

// unseen reports whether a difference is about the readiness of a container whose end the kubelet alone has shown late.
func unseen(line string, kubelet, agent *trace.Trace) bool {
	if event, ok := eventOf(line); ok {
		return strings.HasPrefix(event, "Warning Unhealthy ") && strings.Contains(event, ": Readiness probe ") && agent.Count(event) == 0 && kubelet.Unseen(containerOf(event))
	}
	c, state, ok := strings.Cut(strings.TrimPrefix(line, "container "), ": ")
	return ok && strings.HasPrefix(line, "container ") && strings.HasPrefix(state, "at ") && kubelet.Unseen(c) && !agent.Unseen(c)
}

// hidden reports whether a difference is about a container of which a start is hidden under the kubelet alone.
func hidden(line string, kubelet, agent *trace.Trace) bool {
	c, _, ok := strings.Cut(strings.TrimPrefix(line, "container "), ":")
	return ok && strings.HasPrefix(line, "container ") && kubelet.Hides(c) && !agent.Hides(c)
}

// config reports whether only the agent has missed a ConfigMap, of a container that both start after a back-off of another one.
func config(line string, kubelet, agent *trace.Trace) bool {
	event, ok := eventOf(line)
	if !ok || !strings.HasPrefix(event, "Warning Failed ") || !strings.Contains(event, ": Error: configmap ") || kubelet.Count(event) != 0 || agent.Count(event) != 1 {
		return false
	}
	return slices.ContainsFunc(kubelet.Containers(), func(c string) bool {
		return c != containerOf(event) && kubelet.Waits(c, "CrashLoopBackOff") && agent.Waits(c, "CrashLoopBackOff")
	})
}

// eventOf returns the Event whose count a difference is about.
func eventOf(line string) (event string, ok bool) {
	line, ok = strings.CutPrefix(line, "event ")
	end := strings.LastIndex(line, ": kubelet ")
	if !ok || end < 0 {
		return "", false
	}
	return line[:end], true
}

// containerOf returns the name of the container of an Event.
func containerOf(event string) string {
	_, after, _ := strings.Cut(event, "ontainers{")
	name, _, _ := strings.Cut(after, "}")
	return name
}
