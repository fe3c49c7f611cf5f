package main

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/conformance/kubelet/random"
	"github.com/fakecluster/fakecluster/conformance/kubelet/trace"
	"github.com/fakecluster/fakecluster/conformance/kubelet/world"
)

// record returns the record of a pod whose container runs from the first second until a time.
func record(ended time.Duration) world.Record {
	version := func(at time.Duration, state corev1.ContainerState) world.Version {
		pod := &corev1.Pod{}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: state}}
		return world.Version{At: at, Pod: pod}
	}
	return world.Record{Versions: []world.Version{
		version(0, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}),
		version(time.Second, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}),
		version(ended, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}),
	}}
}

func TestADifferenceIsARaceOnlyNearTheDeadline(t *testing.T) {
	scenario := random.Scenario{Pod: &corev1.Pod{Spec: corev1.PodSpec{ActiveDeadlineSeconds: new(int64(30))}}}
	for _, test := range []struct {
		ended time.Duration
		race  bool
	}{{10 * time.Second, false}, {28 * time.Second, true}, {40 * time.Second, false}} {
		if got := race(scenario, nil, trace.Of(record(test.ended))); got != test.race {
			t.Errorf("the container ends after %v, the deadline is after 30s: race is %t, want %t", test.ended, got, test.race)
		}
	}
}
