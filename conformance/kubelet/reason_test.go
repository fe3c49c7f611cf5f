package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/conformance/kubelet/trace"
	"github.com/fakecluster/fakecluster/conformance/kubelet/world"
)

// seen is what an agent shows of a pod with the containers i and c.
type seen struct {
	probed  bool             // c has a probe
	backOff string           // the container that waits for its next start
	events  map[string]int32 // counts, by messages of Events about c
	hook    string           // the container whose hook has failed
	written int              // Events about other things, before those
	starts  int              // of c
}

func (s seen) trace() *trace.Trace {
	c := corev1.Container{Name: "c"}
	if s.probed {
		c.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1}
	}
	pod := func(backOff string) *corev1.Pod {
		pod := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "i"}}, Containers: []corev1.Container{c}}}
		status := func(name string) []corev1.ContainerStatus {
			waiting := &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
			if name == backOff {
				waiting.Reason = "CrashLoopBackOff"
			}
			return []corev1.ContainerStatus{{Name: name, State: corev1.ContainerState{Waiting: waiting}}}
		}
		pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses = status("i"), status("c")
		return pod
	}
	r := world.Record{Versions: []world.Version{{Pod: pod("")}, {Pod: pod(s.backOff)}}}
	for n := range s.starts {
		before := pod("")
		before.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ContainerID: fmt.Sprint(n)}
		r.Versions = append(r.Versions, world.Version{Pod: before})
	}
	add := func(kind, reason, path, message string, count int32) {
		r.Events = append(r.Events, world.Event{Event: &corev1.Event{
			Type: kind, Reason: reason, Message: message, Count: count, InvolvedObject: corev1.ObjectReference{FieldPath: path},
		}})
	}
	for range s.written {
		add("Normal", "Pulled", "spec.initContainers{i}", "pulled", 1)
	}
	for message, count := range s.events {
		reason := "Failed"
		if message == "restarting" {
			reason = "BackOff"
		}
		add("Warning", reason, "spec.containers{c}", message, count)
	}
	if s.hook != "" {
		add("Warning", "FailedPostStartHook", "spec.containers{"+s.hook+"}", "hook", 1)
	}
	return trace.New(r)
}

// nameOf returns the name of a reason, and nothing if there is none.
func nameOf(r *reason) string {
	if r == nil {
		return ""
	}
	return r.name
}

func TestAReasonExplainsOnlyWhatFollowsFromIt(t *testing.T) {
	restarting := func(n int32) map[string]int32 { return map[string]int32{"restarting": n} }
	pull := func(n int32) map[string]int32 { return map[string]int32{"Failed to pull": n} }
	missing := map[string]int32{`Error: configmap "m" not found`: 1}
	for _, test := range []struct {
		name           string
		kubelet, agent seen
		want           string // the reason; "": none
	}{
		{"back-offs of a container with a probe", seen{probed: true, starts: 6, events: restarting(19)}, seen{probed: true, starts: 6, events: restarting(7)}, "syncs"},
		{"back-offs of a container whose hook has failed", seen{hook: "c", starts: 6, events: restarting(19)}, seen{hook: "c", starts: 6, events: restarting(7)}, "syncs"},
		{"back-offs of a container without a probe, beside one whose hook has failed", seen{hook: "i", starts: 6, events: restarting(19)}, seen{hook: "i", starts: 6, events: restarting(7)}, ""},
		{"more than two back-offs for each start", seen{probed: true, starts: 6, events: restarting(20)}, seen{probed: true, starts: 6, events: restarting(7)}, ""},
		{"more back-offs under the agent", seen{probed: true, starts: 6, events: restarting(7)}, seen{probed: true, starts: 6, events: restarting(18)}, ""},
		{"back-offs under the kubelet alone", seen{probed: true, starts: 6, events: restarting(2)}, seen{probed: true, starts: 6}, ""},
		{"another Event of a container with a probe", seen{probed: true, starts: 6, events: pull(18)}, seen{probed: true, starts: 6, events: pull(7)}, ""},

		{"as many Events as a client writes", seen{written: 24, events: pull(3)}, seen{written: 24, events: pull(5)}, "limit"},
		{"an Event less under the kubelet", seen{written: 23, events: pull(3)}, seen{written: 24, events: pull(5)}, ""},
		{"an Event less under the agent", seen{written: 24, events: pull(3)}, seen{written: 23, events: pull(5)}, ""},
		{"an Event that the kubelet alone has", seen{written: 24, events: pull(3)}, seen{written: 25}, "limit"},
		{"an Event that the agent alone has", seen{written: 25}, seen{written: 24, events: pull(3)}, "limit"},
		{"an Event that the agent alone has, and the kubelet has written fewer", seen{written: 24}, seen{written: 24, events: pull(3)}, ""},

		{"the agent misses a ConfigMap after a back-off of another container", seen{backOff: "i"}, seen{backOff: "i", events: missing}, "config"},
		{"the kubelet misses it", seen{backOff: "i", events: missing}, seen{backOff: "i"}, ""},
		{"the agent misses it without a back-off before", seen{}, seen{events: missing}, ""},
		{"the agent alone has a back-off before", seen{}, seen{backOff: "i", events: missing}, ""},
		{"the back-off is of the same container", seen{backOff: "c"}, seen{backOff: "c", events: missing}, ""},
		{"the agent misses it twice", seen{backOff: "i"}, seen{backOff: "i", events: map[string]int32{`Error: configmap "m" not found`: 4}}, ""},
		{"the agent misses a Secret", seen{backOff: "i"}, seen{backOff: "i", events: map[string]int32{`Error: secret "m" not found`: 1}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			kubelet, agent := test.kubelet.trace(), test.agent.trace()
			lines := trace.Compare(kubelet, agent)
			if len(lines) != 1 {
				t.Fatalf("differences %q, want one", lines)
			}
			got := nameOf(reasonOf(lines, kubelet, agent))
			if got != test.want {
				t.Errorf("%s has the reason %q, want %q", lines[0], got, test.want)
			}
		})
	}
}

// restarted returns the trace of a pod in which a probe, or nothing, ends the sidecar s at a second, and the container c ends at another. Each starts again.
func restarted(s, sAgain, c, cAgain int, probe string) *trace.Trace {
	timeOf := func(second int) metav1.Time { return metav1.Unix(int64(second), 0) }
	status := func(name string, ended, again int) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{Name: name, ContainerID: "2", RestartCount: 1, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: timeOf(again)}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ContainerID: "1", StartedAt: timeOf(1), FinishedAt: timeOf(ended)}}}}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: timeOf(0)}, Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "s", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}, Containers: []corev1.Container{{Name: "c"}},
	}}
	pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses = status("s", s, sAgain), status("c", c, cAgain)
	if probe == "" {
		return trace.New(world.Record{Versions: []world.Version{{At: time.Minute, Pod: pod}}})
	}
	return trace.New(world.Record{Versions: []world.Version{{At: time.Minute, Pod: pod}}, Events: []world.Event{{Event: &corev1.Event{
		Type: "Normal", Reason: "Killing", Message: "Init container s failed " + probe + " probe", Count: 1, InvolvedObject: corev1.ObjectReference{FieldPath: "spec.initContainers{s}"},
	}}}})
}

func TestAStartIsDelayedByAnotherOneThatAProbeCauses(t *testing.T) {
	agent := restarted(22, 23, 20, 20, "liveness")
	for _, test := range []struct {
		name    string
		kubelet *trace.Trace
		want    string
	}{
		{"the container starts after the sidecar", restarted(22, 23, 20, 28, "liveness"), "kill"},
		{"it has ended much earlier", restarted(24, 25, 20, 28, "liveness"), ""},
		{"it starts before the sidecar", restarted(22, 33, 20, 28, "liveness"), ""},
		{"it has ended after the sidecar", restarted(22, 23, 23, 31, "liveness"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			lines := trace.Compare(test.kubelet, agent)
			got := nameOf(reasonOf(lines, test.kubelet, agent))
			if len(lines) == 0 || got != test.want {
				t.Errorf("%q has the reason %q, want %q", lines, got, test.want)
			}
		})
	}
}

func TestAProbeMeetsTheEndOfItsContainer(t *testing.T) {
	kubelet := restarted(22, 23, 20, 20, "liveness")
	for _, test := range []struct {
		name  string
		agent *trace.Trace
		want  string
	}{
		{"the container ends by itself, and the next start waits", restarted(22, 33, 20, 20, ""), "met"},
		{"it ends by itself later", restarted(26, 36, 20, 20, ""), ""},
		{"a probe ends it, too", restarted(22, 33, 20, 20, "liveness"), ""},
		{"another container starts late, too", restarted(22, 33, 20, 40, ""), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			lines := trace.Compare(kubelet, test.agent)
			got := nameOf(reasonOf(lines, kubelet, test.agent))
			if len(lines) == 0 || got != test.want {
				t.Errorf("%q has the reason %q, want %q", lines, got, test.want)
			}
		})
	}
}

// short returns the trace of a pod whose container c runs from one second to another, and is shown while it runs or not, beside the container h, whose
// postStart hook fails at a second.
func short(began, ended int, shown bool, hook int) *trace.Trace {
	timeOf := func(second int) metav1.Time { return metav1.Unix(int64(second), 0) }
	version := func(second int, states ...corev1.ContainerState) world.Version {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: timeOf(0)}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}, {Name: "h"}}}}
		for i, state := range states {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: pod.Spec.Containers[i].Name, ContainerID: "1", State: state})
		}
		return world.Version{At: time.Duration(second) * time.Second, Pod: pod}
	}
	over := func(began, ended int) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ContainerID: "1", StartedAt: timeOf(began), FinishedAt: timeOf(ended)}}
	}
	waits := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	versions := []world.Version{version(0, waits, waits)}
	if shown {
		versions = append(versions, version(began, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: timeOf(began)}}, waits))
	}
	versions = append(versions, version(max(ended, hook), over(began, ended), over(hook-5, hook)))
	return trace.New(world.Record{Versions: versions, Events: []world.Event{{Event: &corev1.Event{
		Type: "Warning", Reason: "FailedPostStartHook", Message: "PostStartHook failed", Count: 1, InvolvedObject: corev1.ObjectReference{FieldPath: "spec.containers{h}"},
	}}}})
}

func TestAnEndIsShownLate(t *testing.T) {
	late, soon := short(10, 14, true, 40), short(10, 14, true, 15)
	readiness := "event Warning Unhealthy spec.containers{c}: Readiness probe failed: refused: kubelet 5, agent 0"
	state := "container c: at 20.0s the kubelet has\nrunning, restarts 0, ready false, started true"
	for _, test := range []struct {
		name, line     string
		kubelet, agent *trace.Trace
		want           string
	}{
		{"a probe of readiness", readiness, late, soon, "unseen"},
		{"a probe of readiness, and the end is shown soon", readiness, soon, soon, ""},
		{"a probe of liveness", strings.Replace(readiness, "Readiness", "Liveness", 1), late, soon, ""},
		{"a probe of another container", strings.Replace(readiness, "{c}", "{d}", 1), late, soon, ""},
		{"the state", state, late, soon, "unseen"},
		{"the state, and the agent shows the end late, too", state, late, late, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := nameOf(reasonOf([]string{test.line}, test.kubelet, test.agent))
			if got != test.want {
				t.Errorf("%s has the reason %q, want %q", test.line, got, test.want)
			}
		})
	}
}

func TestAHookHidesAShortStart(t *testing.T) {
	for _, test := range []struct {
		name           string
		kubelet, agent *trace.Trace
		want           string
	}{
		{"the hook lasts longer under the kubelet", short(10, 14, false, 15), short(10, 14, true, 40), "hidden"},
		{"it is over before", short(10, 14, false, 11), short(10, 14, true, 40), ""},
		{"the agent hides the start", short(10, 14, true, 40), short(10, 14, false, 15), "unseen"},
		{"the hook lasts longer under both", short(10, 14, false, 15), short(10, 14, true, 15), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			lines := slices.DeleteFunc(trace.Compare(test.kubelet, test.agent), func(line string) bool { return !strings.HasPrefix(line, "container c:") })
			got := nameOf(reasonOf(lines, test.kubelet, test.agent))
			if len(lines) != 1 || got != test.want {
				t.Errorf("%q has the reason %q, want %q", lines, got, test.want)
			}
		})
	}
}
