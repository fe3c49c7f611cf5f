package main

import (
	"slices"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/conformance/kubelet/random"
	"github.com/fakecluster/fakecluster/conformance/kubelet/trace"
)

// reason is why pods differ.
type reason struct {
	name, why string
	// explains reports whether the differences of a pod have the reason.
	explains func(s random.Scenario, lines []string, agent *trace.Trace) bool
}

// reasonOf returns the reason why a pod differs, and nil if it is not known.
func reasonOf(s random.Scenario, lines []string, agent *trace.Trace) *reason {
	for i := range reasons {
		if reasons[i].explains(s, lines, agent) {
			return &reasons[i]
		}
	}
	return nil
}

// reasons are the known reasons.
var reasons = []reason{
	{"race", "A deadline or a deletion comes while the kubelet is behind: it sees that a container has ended up to a second later, and waits up to half as long again.", race},
	{"phase", "The kubelet writes the end of the last containers before the phase that follows from it; the agent writes both at once.", phase},
}

// phase reports whether only the phase differs, and the conditions that follow from it, because the kubelet has not yet written the end of the pod.
func phase(_ random.Scenario, lines []string, _ *trace.Trace) bool {
	return !slices.ContainsFunc(lines, func(line string) bool {
		return !strings.HasPrefix(line, "conditions of") || !strings.Contains(line, "\nkubelet: phase Running ") || !strings.Contains(line, "\nagent: phase Succeeded ") && !strings.Contains(line, "\nagent: phase Failed ")
	})
}

// poll is how far behind a kubelet is, after a moment that both agents have in common.
const poll = 1500 * time.Millisecond

// race reports whether a container has changed so shortly before the end of its pod that the kubelet may see that later, or do it later.
func race(s random.Scenario, _ []string, agent *trace.Trace) bool {
	behind := agent.Waited()/2 + 2*poll
	if seconds := s.Pod.Spec.ActiveDeadlineSeconds; seconds != nil && agent.Changes(time.Duration(*seconds)*time.Second, behind) {
		return true
	}
	for _, a := range s.Actions {
		if !a.Delete {
			continue
		}
		if a.Container != "" {
			behind = poll
		}
		if at, ok := agent.Deleted(); ok && agent.Changes(at, behind) {
			return true
		}
	}
	return false
}
