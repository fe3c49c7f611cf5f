package trace

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/conformance/kubelet/world"
)

// dying returns the trace of a pod with a deadline of 30 s, whose container runs from the second second until a time.
func dying(ended time.Duration, code int32) *Trace {
	version := func(moment time.Duration, state corev1.ContainerState) world.Version {
		pod := &corev1.Pod{Spec: corev1.PodSpec{ActiveDeadlineSeconds: new(int64(30)), Containers: []corev1.Container{{Name: "c"}}}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: state}}
		return world.Version{At: moment, Pod: pod}
	}
	return New(world.Record{Versions: []world.Version{
		version(0, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}),
		version(2*time.Second, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}),
		version(ended, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}),
	}})
}

func TestADifferenceIsARaceOnlyNearTheEndOfThePod(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name           string
		kubelet, agent *Trace
		want           bool
	}{
		{"both see the end of the container long before", dying(11*s, 1), dying(10*s, 1), false},
		{"the container ends shortly before the deadline", dying(30*s, 1), dying(29*s, 1), true},
		{"one sees the end of the container before the deadline", dying(31*s, 1), dying(25*s, 1), true},
		{"the container ends in another way long before", dying(11*s, 1), dying(10*s, 2), false},
		{"it ends in another way, and shortly before the deadline under one of them", dying(30*s, 2), dying(10*s, 1), true},
		{"after the deadline", dying(40*s, 1), dying(45*s, 2), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Race(test.kubelet, test.agent); got != test.want {
				t.Errorf("Race is %t, want %t\n-- kubelet\n%s-- agent\n%s", got, test.want, test.kubelet, test.agent)
			}
		})
	}
}

func TestADeletionThatWaitsForALaterStart(t *testing.T) {
	deleted := func(began, ended, gone int) *Trace {
		timeOf := func(second int) metav1.Time { return metav1.NewTime(created.Add(time.Duration(second) * time.Second)) }
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			CreationTimestamp: metav1.NewTime(created), DeletionTimestamp: &metav1.Time{Time: created}, DeletionGracePeriodSeconds: new(int64(30)),
		}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ContainerID: "1", StartedAt: timeOf(began), FinishedAt: timeOf(ended),
		}}}}
		return New(world.Record{Versions: []world.Version{{At: 54 * time.Second, Pod: pod}, {At: time.Duration(gone) * time.Second, Pod: pod, Gone: true}}})
	}
	agent := deleted(50, 58, 58)
	for _, test := range []struct {
		name    string
		kubelet *Trace
		want    bool
	}{
		{"it started later by as much", deleted(53, 61, 62), true},
		{"the deletion took longer than that", deleted(53, 61, 66), false},
		{"it ran longer", deleted(50, 61, 62), false},
		{"it started after the request", deleted(56, 64, 64), false},
		{"it ended before the request", deleted(44, 52, 62), false},
	} {
		if got := Later(test.kubelet, agent); got != test.want {
			t.Errorf("%s: %t, want %t", test.name, got, test.want)
		}
	}
}
