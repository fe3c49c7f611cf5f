package trace

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// Coalesced is how long a value must last to be seen for certain.
	Coalesced = 2500 * time.Millisecond
	// settled is until when the states have to be the same: with random delays, one agent may show in the rest of the time what the other would show later.
	settled = Observed * 2 / 3
	// Observed is how long a pod has to be observed.
	Observed = 5 * time.Minute
	// latest is the latest sync of a pod after the one before.
	latest = 95 * time.Second
)

// Compare returns the differences between a trace under the kubelet and one under the node agent.
//
// A start of a container that does not end with its pod runs as long under both, within a second, and the period of a probe that can end it. It starts again after the same time within three seconds: a kubelet polls its containers
// and its queue once a second each. What a kubelet does after a delay, such as a back-off, it does up to half as long again later, at random.
// The deletion takes as long under both within three seconds. The counts of an Event differ by one or by half at most, those of a BackOff, which a kubelet
// records with each sync of the pod, by a factor of two. Those of failed probes differ by one more for each start of the container, which a kubelet sees
// up to a second later. A kubelet probes the readiness of a container that is not ready with each sync of the pod, too: how often it fails is not compared.
func Compare(kubelet, agent *Trace) []string {
	var lines []string
	for _, name := range keys(kubelet.tracks, agent.tracks) {
		if why := compareTracks(kubelet.tracks[name], agent.tracks[name]); why != "" {
			lines = append(lines, name+": "+why)
		}
	}
	lines = append(lines, compareReasons(kubelet, agent)...)
	for _, key := range slices.Sorted(maps.Keys(kubelet.conditions)) {
		theirs, ours := kubelet.conditions[key], agent.conditions[key]
		if len(ours) > 0 && !slices.ContainsFunc(theirs, func(c string) bool { return slices.Contains(ours, c) }) {
			lines = append(lines, fmt.Sprintf("conditions of\n%s\nkubelet: %s\nagent: %s", key, theirs[len(theirs)-1], ours[len(ours)-1]))
		}
	}
	lines = append(lines, compareTimes(kubelet, agent)...)
	for _, key := range keys(kubelet.events, agent.events) {
		a, b := kubelet.events[key], agent.events[key]
		most := min(a, b) + max(1, min(a, b)/2)
		if strings.Contains(key, "BackOff") { // one with each sync
			most = 2*min(a, b) + 2
		}
		if starts := kubelet.probed(key); starts > 0 { // each start is seen up to a second later
			most = max(most, min(a, b)+starts)
		}
		if a == b || a > 0 && b > 0 && (max(a, b) <= most || readiness(key)) || kubelet.probed(key) > 0 && max(a, b) <= most {
			continue
		}
		lines = append(lines, fmt.Sprintf("event %s: kubelet %d, agent %d", key, a, b))
	}
	return lines
}

// probed returns how often the container has started whose probe has failed, by the Event, and zero if that is of something else.
func (t *Trace) probed(event string) int32 {
	if !strings.HasPrefix(event, "Warning Unhealthy ") {
		return 0
	}
	for name, starts := range t.starts {
		if strings.Contains(event, "{"+name+"}") {
			return 1 + int32(len(starts))
		}
	}
	return 1
}

// readiness reports whether an Event is that of a readiness probe, which a kubelet runs with each sync of a pod that is not ready.
func readiness(event string) bool { return strings.Contains(event, ": Readiness probe ") }

// keys returns the keys of two maps.
func keys[V any](a, b map[string]V) []string {
	merged := maps.Clone(a)
	maps.Copy(merged, b)
	return slices.Sorted(maps.Keys(merged))
}

func compareReasons(kubelet, agent *Trace) []string {
	var names []string
	for _, name := range keys(kubelet.waiting, agent.waiting) {
		for _, reason := range keys(kubelet.waiting[name], agent.waiting[name]) {
			_, theirs := kubelet.waiting[name][reason]
			lasts, ours := agent.waiting[name][reason]
			switch {
			case !ours:
				names = append(names, fmt.Sprintf("container %s waits only under the kubelet: %s", name, reason))
			case !theirs && lasts > latest:
				names = append(names, fmt.Sprintf("container %s waits only under the agent, for %.1fs: %s", name, lasts.Seconds(), reason))
			}
		}
	}
	return names
}

func compareTimes(kubelet, agent *Trace) []string {
	var lines []string
	for _, name := range keys(kubelet.starts, agent.starts) {
		a, b := kubelet.starts[name], agent.starts[name]
		for n := range min(len(a), len(b)) {
			x, y := a[n], b[n]
			if x.over && y.over && kubelet.byItself(name, x) && agent.byItself(name, y) && ((x.ended-x.began)-(y.ended-y.began)).Abs() > time.Second+agent.periods[name] {
				lines = append(lines, fmt.Sprintf("container %s, start %d: ran %v under the kubelet, %v under the agent", name, n, x.ended-x.began, y.ended-y.began))
			}
			if n == 0 || !a[n-1].over || !b[n-1].over {
				continue
			}
			k, o := x.began-a[n-1].ended, y.began-b[n-1].ended
			if k > o+o/2+3*time.Second || k < o-2*time.Second {
				lines = append(lines, fmt.Sprintf("container %s, start %d: begins %v after the end of the one before under the kubelet, %v under the agent", name, n, k, o))
			}
		}
	}
	if kubelet.deletion != 0 && agent.deletion != 0 && (kubelet.deletion-agent.deletion).Abs() > 3*time.Second {
		lines = append(lines, fmt.Sprintf("the deletion takes %.1fs under the kubelet, %.1fs under the agent", kubelet.deletion.Seconds(), agent.deletion.Seconds()))
	}
	return lines
}

// byItself reports whether a start of a container has not ended with its pod, which happens at another time under each agent.
func (t *Trace) byItself(name string, s start) bool {
	if t.over() == 0 {
		return true
	}
	before := func(end time.Duration) bool { return end == 0 || s.ended < end }
	return !t.sidecars[name] && before(t.deleted) && before(t.deadline)
}

// compareTracks returns how two tracks differ.
func compareTracks(kubelet, agent []point) string {
	a := &aligner{kubelet: kubelet, agent: agent, failed: map[[3]int]bool{}}
	if a.from(0, 0, "") {
		return ""
	}
	return a.why
}

// aligner finds which values of two tracks correspond.
type aligner struct {
	kubelet, agent []point
	failed         map[[3]int]bool
	beginning      bool   // one of the tracks may end before the other
	far            int    // how far the best attempt came
	why            string // and what stopped it
}

// from reports whether the tracks correspond from i and j on, after a value that they have in common.
func (a *aligner) from(i, j int, last string) bool {
	if i == len(a.kubelet) && j == len(a.agent) || a.beginning && (i == len(a.kubelet) || j == len(a.agent)) {
		return true
	}
	key := [3]int{i, j, len(last)}
	if a.failed[key] {
		return false
	}
	switch {
	case i == len(a.kubelet) && a.agent[j].moment > settled, j == len(a.agent) && a.kubelet[i].moment > settled:
		return true
	case i == len(a.kubelet):
		a.stop(i+j, fmt.Sprintf("only the agent has, at %.1fs: %s", a.agent[j].moment.Seconds(), a.agent[j].value))
	case j == len(a.agent):
		a.stop(i+j, fmt.Sprintf("only the kubelet has, at %.1fs: %s", a.kubelet[i].moment.Seconds(), a.kubelet[i].value))
	case a.kubelet[i].value != a.agent[j].value:
		a.stop(i+j, fmt.Sprintf("at %.1fs the kubelet has\n  %s\nat %.1fs the agent has\n  %s",
			a.kubelet[i].moment.Seconds(), a.kubelet[i].value, a.agent[j].moment.Seconds(), a.agent[j].value))
	case a.from(i+1, j+1, a.kubelet[i].value):
		return true
	}
	if i < len(a.kubelet) && skippable(a.kubelet[i], last) && a.from(i+1, j, last) || j < len(a.agent) && skippable(a.agent[j], last) && a.from(i, j+1, last) {
		return true
	}
	a.failed[key] = true
	return false
}

// skippable reports whether a value may be missing on the other side, after a value that both have.
func skippable(p point, last string) bool { return p.lasts < Coalesced || p.value == last }

func (a *aligner) stop(second int, why string) {
	if a.why == "" || second > a.far {
		a.far, a.why = second, why
	}
}
