// Package trace compares what clients see of a pod under two agents.
//
// # What is compared
//
// States: the sequence of the states of each container (exit code, reason and termination message, restarts, ready, started, the last state),
// of the phase of the pod with its reason and message, and of its deletion. Two sequences are the same if they have the same values in the same
// order, except that a value which has lasted less than [Coalesced] may be missing on one side: a kubelet looks at its containers every second, and
// writes only the newest status.
//
// Reasons: why containers wait. A kubelet writes why a container does not start with its next sync of the pod, which is up to a minute and a half
// later; the node agent writes it at once. So a waiting container is in the state that it had before, and the reasons with their messages are compared as
// a set: the agent has all that the kubelet has, and the kubelet has those that have lasted for long.
//
// Conditions follow from the containers. Containers of a pod may change in another order, so the conditions, the phase, the reason and the message of the pod
// are compared for each combination of the containers' states that both have shown: one of them at least has to be the same.
//
// Times: how long each start of a container ran, how long it took to start again, and how long the deletion of the pod took: see [Compare].
//
// Events: the type, the reason, the message, the container and the count.
package trace

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/fakecluster/fakecluster/conformance/kubelet/world"
)

// Trace is what a client has seen of a pod.
type Trace struct {
	tracks     map[string][]point
	conditions map[string][]string                 // of the pod, by the states of its containers
	waiting    map[string]map[string]time.Duration // by container and reason: the longest time
	starts     map[string][]start                  // by container
	events     map[string]int32
	sidecars   map[string]bool
	periods    map[string]time.Duration // of the probes that end a container
	resynced   bool
	withProbes map[string]bool          // containers with probes
	written    []time.Duration          // when each version of an Event was written
	recorded   map[string]time.Duration // when an Event was written first
	deleted    time.Duration            // when the deletion was requested; zero: never
	deadline   time.Duration            // when spec.activeDeadlineSeconds end; zero: never
	deletion   time.Duration            // from the request until the pod is gone
}

// point is a value of a track.
type point struct {
	moment, lasts time.Duration
	value         string
}

// start is one start of a container. Times are since the creation of the pod, in whole seconds.
type start struct {
	id           string
	began, ended time.Duration
	over         bool
	shown        time.Duration // when a status showed first that it is over
}

// New returns the trace of a record.
func New(r world.Record) *Trace {
	t := &Trace{
		tracks: map[string][]point{}, conditions: map[string][]string{}, waiting: map[string]map[string]time.Duration{},
		starts: map[string][]start{}, events: map[string]int32{}, sidecars: map[string]bool{}, periods: map[string]time.Duration{},
		withProbes: map[string]bool{}, recorded: map[string]time.Duration{},
	}
	since := map[string]point{} // the last reason, by container
	for _, v := range r.Versions {
		t.add(v, since)
		if seconds := v.Pod.Spec.ActiveDeadlineSeconds; seconds != nil {
			t.deadline = time.Duration(*seconds) * time.Second
		}
		switch {
		case v.Gone:
			t.deletion = v.At - t.deleted
		case v.Pod.DeletionTimestamp != nil && t.deleted == 0:
			t.deleted = v.At
		}
		for _, c := range v.Pod.Spec.InitContainers {
			t.sidecars[c.Name] = c.RestartPolicy != nil
		}
		for _, c := range slices.Concat(v.Pod.Spec.InitContainers, v.Pod.Spec.Containers) {
			t.withProbes[c.Name] = c.LivenessProbe != nil || c.StartupProbe != nil || c.ReadinessProbe != nil
			for _, probe := range []*corev1.Probe{c.LivenessProbe, c.StartupProbe} {
				if probe != nil {
					t.periods[c.Name] = max(t.periods[c.Name], time.Duration(probe.PeriodSeconds)*time.Second)
				}
			}
		}
	}
	for _, track := range t.tracks {
		for i := range track {
			track[i].lasts = time.Hour
			if i+1 < len(track) {
				track[i].lasts = track[i+1].moment - track[i].moment
			}
		}
	}
	for _, e := range r.Events {
		o := e.Event
		key := fmt.Sprintf("%s %s %s: %s", o.Type, o.Reason, o.InvolvedObject.FieldPath, mask(o.Message))
		t.events[key] = max(t.events[key], o.Count)
		t.written = append(t.written, e.At)
		if _, known := t.recorded[key]; !known {
			t.recorded[key] = e.At
		}
	}
	return t
}

func (t *Trace) add(v world.Version, since map[string]point) {
	put := func(track, value string) {
		if have := t.tracks[track]; len(have) == 0 || have[len(have)-1].value != value {
			t.tracks[track] = append(have, point{moment: v.At, value: value})
		}
	}
	s := &v.Pod.Status
	life := "alive"
	switch {
	case v.Gone:
		life = "gone"
	case v.Pod.DeletionTimestamp != nil:
		life = fmt.Sprintf("deleted, grace %d", *v.Pod.DeletionGracePeriodSeconds)
	}
	put("life", life)
	put("phase", strings.TrimRight(fmt.Sprintf("%s %s %s", s.Phase, s.Reason, s.Message), " "))
	combination := []string{life}
	for _, c := range v.Pod.Spec.Containers {
		probed := c.StartupProbe != nil || c.LivenessProbe != nil || c.ReadinessProbe != nil
		if status, ok := podutil.GetContainerStatus(s.ContainerStatuses, c.Name); ok && probed && status.State.Terminated != nil {
			t.resynced = t.resynced || !podutil.ContainerShouldRestart(c, v.Pod.Spec, status.State.Terminated.ExitCode)
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range statuses {
			c := &statuses[i]
			put("container "+c.Name, state(c))
			t.times(c, v.Pod.CreationTimestamp.Time, v.At)
			reason := ""
			if w := c.State.Waiting; w != nil {
				reason = fmt.Sprintf("%s %q", w.Reason, mask(w.Message))
			}
			t.waits(c.Name, reason, v.At, since)
			combination = append(combination, c.Name+": "+state(c)+" "+reason)
		}
	}
	if len(combination) > 1 { // the agent has seen it
		key := strings.Join(combination, "\n")
		t.conditions[key] = append(t.conditions[key], conditions(s))
	}
}

// waits notes why a container waits. An empty reason is that it does not.
func (t *Trace) waits(container, reason string, moment time.Duration, since map[string]point) {
	before := since[container]
	if t.waiting[container] == nil {
		t.waiting[container] = map[string]time.Duration{}
	}
	if before.value != "" {
		t.waiting[container][before.value] = max(t.waiting[container][before.value], moment-before.moment)
	}
	if before.value != reason {
		since[container] = point{moment: moment, value: reason}
	}
	if reason != "" {
		t.waiting[container][reason] += 0
	}
}

// times notes when a container has started and ended. Starts that have failed have no times.
func (t *Trace) times(s *corev1.ContainerStatus, created time.Time, moment time.Duration) {
	set := func(id string, began, ended time.Time, over bool) {
		if began.Before(created) {
			return
		}
		n := slices.IndexFunc(t.starts[s.Name], func(x start) bool { return x.id == id })
		if n < 0 {
			n = len(t.starts[s.Name])
			t.starts[s.Name] = append(t.starts[s.Name], start{})
		}
		x := start{id: id, began: began.Sub(created), ended: ended.Sub(created), over: over}
		if before := t.starts[s.Name][n]; before.over {
			x.shown = before.shown
		} else if over {
			x.shown = moment
		}
		t.starts[s.Name][n] = x
	}
	for _, state := range []*corev1.ContainerState{&s.LastTerminationState, &s.State} {
		if r := state.Running; r != nil {
			set(s.ContainerID, r.StartedAt.Time, created, false)
		}
		if x := state.Terminated; x != nil {
			set(x.ContainerID, x.StartedAt.Time, x.FinishedAt.Time, true)
		}
	}
}

// state returns the state of a container. One that waits is in the state before.
func state(s *corev1.ContainerStatus) string {
	ended := func(x *corev1.ContainerStateTerminated) string {
		return fmt.Sprintf("terminated %d %s %q", x.ExitCode, x.Reason, mask(x.Message))
	}
	flags := fmt.Sprintf(", restarts %d, ready %t, started %t", s.RestartCount, s.Ready, s.Started != nil && *s.Started)
	last := s.LastTerminationState.Terminated
	switch {
	case s.State.Running != nil && last != nil:
		return "running" + flags + ", before: " + ended(last)
	case s.State.Running != nil:
		return "running" + flags
	case s.State.Terminated != nil:
		return ended(s.State.Terminated) + flags
	case last != nil:
		return ended(last) + flags
	}
	return "waiting" + flags
}

func conditions(s *corev1.PodStatus) string {
	lines := []string{fmt.Sprintf("phase %s %s %s, address %t", s.Phase, s.Reason, s.Message, s.PodIP != "")}
	for _, c := range s.Conditions {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%s %s %s %s", c.Type, c.Status, c.Reason, c.Message), " "))
	}
	slices.Sort(lines[1:])
	return strings.Join(lines, "\n")
}

// masks are the parts of messages that are random, or of the machine.
var masks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`[0-9a-f]{64}`), "ID"},
	{regexp.MustCompile(`\d+\.\d+\.\d+\.\d+:`), "ADDRESS:"},
	{regexp.MustCompile(`Image size: \d+ bytes`), "Image size: N bytes"},
}

func mask(s string) string {
	for _, m := range masks {
		s = m.pattern.ReplaceAllString(s, m.with)
	}
	return s
}

// Waits reports whether a container has waited for a reason.
func (t *Trace) Waits(container, reason string) bool {
	for waited := range t.waiting[container] {
		if strings.HasPrefix(waited, reason+" ") {
			return true
		}
	}
	return false
}

// Unhealthy reports whether a failed probe has ended a container.
func (t *Trace) Unhealthy(container string) bool { return t.Killed(container) > 0 }

// Killed returns how often a failed probe has ended a container.
func (t *Trace) Killed(container string) (n int32) {
	for event, count := range t.events {
		if strings.HasPrefix(event, "Normal Killing ") && strings.Contains(strings.ToLower(event), "container "+container+" failed ") {
			n += count
		}
	}
	return n
}

// BacksOff reports whether a start of a container has waited for a back-off. A sidecar that has succeeded is not shown as waiting.
func (t *Trace) BacksOff(container string) bool { return t.warned("BackOff", container) }

// Unseen reports whether the end of a container was shown more than two seconds late: a kubelet shows it when it has started or ended another one, and
// probes the container until then.
func (t *Trace) Unseen(container string) bool {
	return slices.ContainsFunc(t.starts[container], func(s start) bool { return s.over && s.shown > s.ended+2*time.Second })
}

// Hides reports whether a start of a container came with one of another one whose postStart hook has failed, and was over before that, so that a kubelet, which
// waits for the hook, has not shown it.
func (t *Trace) Hides(container string) bool {
	for by, others := range t.starts {
		if by == container || !t.warned("FailedPostStartHook", by) {
			continue
		}
		for _, mine := range t.starts[container] {
			if mine.over && slices.ContainsFunc(others, func(other start) bool {
				return other.over && (other.began-mine.began).Abs() <= time.Second && other.ended+time.Second >= mine.ended
			}) {
				return true
			}
		}
	}
	return false
}

// RanAsLong reports whether all starts of a container that are over under both ran as long, within the second that times are rounded to.
func RanAsLong(kubelet, agent *Trace, container string) bool {
	a, b := kubelet.starts[container], agent.starts[container]
	for n := range min(len(a), len(b)) {
		if a[n].over && b[n].over && ((a[n].ended-a[n].began)-(b[n].ended-b[n].began)).Abs() > time.Second {
			return false
		}
	}
	return true
}

// Containers returns the names of the containers.
func (t *Trace) Containers() []string { return slices.Sorted(maps.Keys(t.withProbes)) }

// SyncedMore reports whether a kubelet syncs the pod for a container more often than it ends and starts: a probe takes the container that has ended
// for unready, or a failed hook has the sync repeated.
func (t *Trace) SyncedMore(container string) bool {
	return t.withProbes[container] || t.warned("FailedPostStartHook", container)
}

// Count returns the count of an Event.
func (t *Trace) Count(event string) int32 { return t.events[event] }

// burst is how many Events about an object a client writes at once. After them it writes one every five minutes, and drops the others.
const burst = 25

// Full reports whether Events about the pod may have been dropped.
func (t *Trace) Full() bool { return len(t.written) >= burst }

// Drops reports whether an Event may have been dropped that the other agent has recorded: both have reached the limit before.
func (t *Trace) Drops(event string, other *Trace) bool {
	first, recorded := other.recorded[event]
	return recorded && t.Count(event) == 0 && t.Full() && t.written[burst-1] <= first
}

// Starts returns how often a container has started.
func (t *Trace) Starts(container string) int32 { return int32(len(t.starts[container])) }

// Blocked reports whether a container that has ended started again only after another one, which a probe has ended up to two seconds later. A kubelet that
// sees both at once starts them one after the other, the second when the hook of the first is over.
func (t *Trace) Blocked(container, by string) bool {
	if container == by || !t.Unhealthy(by) {
		return false
	}
	mine, others := t.starts[container], t.starts[by]
	for n := 1; n < len(mine); n++ {
		for m := 1; m < len(others); m++ {
			later := others[m-1].ended - mine[n-1].ended
			if mine[n-1].over && others[m-1].over && later >= 0 && later <= 2*time.Second && others[m].began <= mine[n].began {
				return true
			}
		}
	}
	return false
}

// warned reports whether there is a Warning about a container, by its reason.
func (t *Trace) warned(reason, container string) bool {
	for event := range t.events {
		if strings.HasPrefix(event, "Warning "+reason+" ") && strings.Contains(event, "{"+container+"}") {
			return true
		}
	}
	return false
}

// Resynced reports whether a container with a probe has ended for good while others run on. A kubelet begins its probes anew with each sync of the pod;
// they end at once, and have the pod synced again, once a second.
func (t *Trace) Resynced() bool { return t.resynced }

// String returns the trace for people.
func (t *Trace) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(t.tracks)) {
		fmt.Fprintf(&b, "%s\n", name)
		for _, p := range t.tracks[name] {
			fmt.Fprintf(&b, "  %8.2fs %s\n", p.moment.Seconds(), p.value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.waiting)) {
		for _, reason := range slices.Sorted(maps.Keys(t.waiting[name])) {
			fmt.Fprintf(&b, "%s waits up to %.1fs: %s\n", name, t.waiting[name][reason].Seconds(), reason)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.starts)) {
		fmt.Fprintf(&b, "%s starts", name)
		for _, s := range t.starts[name] {
			fmt.Fprintf(&b, " %v-%v", s.began, s.ended)
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprintln(&b, "events")
	for _, key := range slices.Sorted(maps.Keys(t.events)) {
		fmt.Fprintf(&b, "  %d× %s\n", t.events[key], key)
	}
	return b.String()
}
