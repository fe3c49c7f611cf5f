package trace

import (
	"strings"
	"time"
)

const (
	// behind is how much later than the agent a kubelet sees that a container has started or ended, and writes it.
	behind = 1500 * time.Millisecond
	// ahead is how much earlier it may do so, because the start of a pod takes a random time.
	ahead = time.Second
)

// Race reports whether the end of the pod met its containers in other states under the kubelet than under the agent, or while they changed. The end is
// the request to delete the pod, its deadline, or the end of its last container. Until then both did the same.
func Race(kubelet, agent *Trace) bool {
	theirs, ours := kubelet.end(), agent.end()
	if theirs == 0 || ours == 0 {
		return false
	}
	race := false
	for name := range agent.tracks {
		if !strings.HasPrefix(name, "container ") {
			continue
		}
		a, b := before(kubelet.tracks[name], theirs-behind), before(agent.tracks[name], ours-behind)
		if !begins(a, b) {
			return false
		}
		race = race || last(a) != last(b) || changes(kubelet.tracks[name], theirs) || changes(agent.tracks[name], ours)
	}
	return race
}

// Later reports whether the deletion waited under both agents for the same start of a container, and that start was later under one of them by as much as the deletion
// took longer. It ran as long under both.
func Later(kubelet, agent *Trace) bool {
	for name, starts := range kubelet.starts {
		others := agent.starts[name]
		if len(starts) == 0 || len(starts) != len(others) {
			continue
		}
		x, y := starts[len(starts)-1], others[len(others)-1]
		before := func(s start, t *Trace) bool {
			return s.over && s.began <= t.deleted+time.Second && s.ended >= t.deleted
		}
		ran := ((x.ended - x.began) - (y.ended - y.began)).Abs()
		late := ((x.began - y.began) - (kubelet.deletion - agent.deletion)).Abs()
		if before(x, kubelet) && before(y, agent) && ran <= time.Second && late <= 2*time.Second {
			return true
		}
	}
	return false
}

// end returns when the end of the pod begins, and zero if it does not.
func (t *Trace) end() time.Duration {
	var first time.Duration
	for _, moment := range []time.Duration{t.deleted, t.deadline, t.over()} {
		if moment > 0 && (first == 0 || moment < first) {
			first = moment
		}
	}
	return first
}

// over returns when the phase of the pod has become Succeeded or Failed.
func (t *Trace) over() time.Duration {
	for _, p := range t.tracks["phase"] {
		if strings.HasPrefix(p.value, "Failed") || strings.HasPrefix(p.value, "Succeeded") {
			return p.moment
		}
	}
	return 0
}

// before returns the points before a time.
func before(track []point, moment time.Duration) []point {
	for i := range track {
		if track[i].moment >= moment {
			return track[:i]
		}
	}
	return track
}

func last(track []point) string {
	if len(track) == 0 {
		return ""
	}
	return track[len(track)-1].value
}

// changes reports whether a track changes near a time.
func changes(track []point, moment time.Duration) bool {
	for _, p := range track {
		if p.moment > 0 && p.moment > moment-behind && p.moment < moment+ahead {
			return true
		}
	}
	return false
}

// begins reports whether one of two tracks is the beginning of the other one.
func begins(kubelet, agent []point) bool {
	a := &aligner{kubelet: kubelet, agent: agent, failed: map[[3]int]bool{}, beginning: true}
	return a.from(0, 0, "")
}
