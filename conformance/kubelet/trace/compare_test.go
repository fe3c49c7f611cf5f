package trace

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/conformance/kubelet/world"
)

var created = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// shown is a state of the container c at a time.
type shown struct {
	moment   time.Duration
	state    corev1.ContainerState
	last     corev1.ContainerState
	restarts int32
}

func running(id int) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(created.Add(time.Duration(id) * time.Minute))}}
}

// ended is the end of a start that has run for some seconds.
func ended(id, ran int) corev1.ContainerState {
	began := created.Add(time.Duration(id) * time.Minute)
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 1, Reason: "Error", StartedAt: metav1.NewTime(began), FinishedAt: metav1.NewTime(began.Add(time.Duration(ran) * time.Second)), ContainerID: "containerd://" + string(rune('a'+id)),
	}}
}

func waiting(why string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: why}}
}

func traceOf(ready corev1.ConditionStatus, events map[string]int32, states ...shown) *Trace {
	var r world.Record
	for _, s := range states {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: s.state, LastTerminationState: s.last, RestartCount: s.restarts, ContainerID: "containerd://" + string(rune('a'+s.restarts))}}
		r.Versions = append(r.Versions, world.Version{At: s.moment, Pod: pod})
	}
	for reason, count := range events {
		r.Events = append(r.Events, world.Event{Event: &corev1.Event{Type: "Normal", Reason: reason, Message: "m", Count: count}})
	}
	return New(r)
}

func TestCompare(t *testing.T) {
	const s = time.Second
	none := corev1.ContainerState{}
	base := func(change ...func([]shown) []shown) *Trace {
		states := []shown{
			{0, waiting("ContainerCreating"), none, 0}, {1 * s, running(0), none, 0}, {10 * s, ended(0, 9), none, 0}, {20 * s, waiting("CrashLoopBackOff"), ended(0, 9), 0},
			{60 * s, running(1), ended(0, 9), 1},
		}
		for _, f := range change {
			states = f(states)
		}
		return traceOf(corev1.ConditionTrue, map[string]int32{"Started": 2, "BackOff": 2}, states...)
	}
	for _, test := range []struct {
		name  string
		agent *Trace
		want  []string
	}{
		{"the same", base(), nil},
		{"a state that lasts for a second may be missing", base(func(states []shown) []shown { return slices.Insert(states, 4, shown{59 * s, none, none, 1}) }), nil},
		{"a state that has lasted for long may not", base(func(states []shown) []shown { return slices.Delete(states, 1, 2) }), []string{
			"container c: at 1.0s the kubelet has\n  running, restarts 0, ready false, started false\nat 10.0s the agent has\n  terminated 1 Error \"\", restarts 0, ready false, started false",
		}},
		{"a reason may be shown earlier", base(func(states []shown) []shown { states[3].moment = 11 * s; return states }), nil},
		{"a reason may not be missing", base(func(states []shown) []shown { return slices.Delete(states, 3, 4) }), []string{
			`container c waits only under the kubelet: CrashLoopBackOff ""`,
		}},
		{"another reason", base(func(states []shown) []shown { states[3].state = waiting("RunContainerError"); return states }), []string{
			`container c waits only under the kubelet: CrashLoopBackOff ""`,
		}},
		{"a start runs for two seconds less", base(func(states []shown) []shown {
			states[2].state, states[3].last, states[4].last = ended(0, 7), ended(0, 7), ended(0, 7)
			return states
		}), []string{"container c, start 0: ran 9s under the kubelet, 7s under the agent"}},
		{"a restart comes much later", base(func(states []shown) []shown { states[4].state = running(2); return states }), []string{
			"container c, start 1: begins 51s after the end of the one before under the kubelet, 1m51s under the agent",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Compare(base(), test.agent)); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
	states := []shown{{0, running(0), none, 0}}
	got := Compare(traceOf(corev1.ConditionTrue, map[string]int32{"Started": 4, "BackOff": 8, "Killing": 1}, states...),
		traceOf(corev1.ConditionFalse, map[string]int32{"Started": 7, "BackOff": 3}, states...))
	want := []string{
		"conditions of\nalive\nc: running, restarts 0, ready false, started false \nkubelet: phase   , address false\nReady True\nagent: phase   , address false\nReady False",
		"event Normal Killing : m: kubelet 1, agent 0", "event Normal Started : m: kubelet 4, agent 7",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conditions and Events (-want +got):\n%s", diff)
	}
}

// TestAStartThatEndsWithItsPodMayRunLonger proves that what a deadline ends does not count, but what ends before it does.
func TestAStartThatEndsWithItsPodMayRunLonger(t *testing.T) {
	trace := func(began, ended int) *Trace {
		timeOf := func(second int) metav1.Time { return metav1.NewTime(created.Add(time.Duration(second) * time.Second)) }
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}, Spec: corev1.PodSpec{ActiveDeadlineSeconds: new(int64(30))}}
		pod.Status.Phase = corev1.PodFailed
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ContainerID: "1", StartedAt: timeOf(began), FinishedAt: timeOf(ended),
		}}}}
		return New(world.Record{Versions: []world.Version{{At: 40 * time.Second, Pod: pod}}})
	}
	if got := Compare(trace(12, 32), trace(17, 31)); got != nil {
		t.Errorf("a start that the deadline ends: %q", got)
	}
	want := []string{"container c, start 0: ran 10s under the kubelet, 15s under the agent"}
	if diff := cmp.Diff(want, Compare(trace(12, 22), trace(12, 27))); diff != "" {
		t.Errorf("a start that ends before the deadline (-want +got):\n%s", diff)
	}
}
