package kubelet

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
)

// TestWhichLogIsShown compares the start whose log is shown, and the error if there is none, with a kubelet's, by the status of the container.
func TestWhichLogIsShown(t *testing.T) {
	waiting := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	ended := func(id string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ContainerID: id}}
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for _, test := range []struct {
		name     string
		status   corev1.ContainerStatus
		previous bool
		id, err  string
	}{
		{"running", corev1.ContainerStatus{ContainerID: "2", State: running, LastTerminationState: ended("1")}, false, "2", ""},
		{"running, the one before", corev1.ContainerStatus{ContainerID: "2", State: running, LastTerminationState: ended("1")}, true, "1", ""},
		{"running, there was none before", corev1.ContainerStatus{ContainerID: "1", State: running}, true, "",
			`previous terminated container "c" in pod "web" not found`},
		{"ended", corev1.ContainerStatus{ContainerID: "1", State: ended("1")}, false, "1", ""},
		{"ended, the one before", corev1.ContainerStatus{ContainerID: "2", State: ended("2"), LastTerminationState: ended("1")}, true, "1", ""},
		{"between two starts", corev1.ContainerStatus{State: waiting("CrashLoopBackOff"), LastTerminationState: ended("1")}, false, "1", ""},
		{"lost", corev1.ContainerStatus{State: ended("")}, false, "", `container "c" in pod "web" is terminated`},
		{"lost before", corev1.ContainerStatus{State: waiting("x"), LastTerminationState: ended("")}, false, "", `container "c" in pod "web" is terminated`},
		{"lost, the one before", corev1.ContainerStatus{State: running, LastTerminationState: ended("")}, true, "",
			`previous terminated container "c" in pod "web" not found`},
		{"creating", corev1.ContainerStatus{State: waiting("ContainerCreating")}, false, "", `container "c" in pod "web" is waiting to start: ContainerCreating`},
		{"no image", corev1.ContainerStatus{State: waiting("ErrImagePull")}, false, "", `container "c" in pod "web" is waiting to start: image can't be pulled`},
		{"no image for long", corev1.ContainerStatus{State: waiting("ImagePullBackOff")}, false, "",
			`container "c" in pod "web" is waiting to start: trying and failing to pull image`},
		{"no state", corev1.ContainerStatus{}, false, "", `container "c" in pod "web" is waiting to start - no logs yet`},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.status.Name = "c"
			for list, pod := range map[string]corev1.PodStatus{
				"main":      {ContainerStatuses: []corev1.ContainerStatus{test.status}},
				"init":      {InitContainerStatuses: []corev1.ContainerStatus{test.status}},
				"ephemeral": {EphemeralContainerStatuses: []corev1.ContainerStatus{test.status}},
			} {
				id, err := logOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Status: pod}, "c", test.previous)
				message := ""
				if err != nil {
					message = err.Error()
				}
				if id != test.id || message != test.err {
					t.Errorf("%s: got %q, %q; want %q, %q", list, id, message, test.id, test.err)
				}
			}
		})
	}
	const want = `container "c" in pod "web" is not available`
	if _, err := logOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, "c", false); err == nil || err.Error() != want {
		t.Errorf("without a status: %v, want %s", err, want)
	}
}

func TestWhichPartOfALogIsShown(t *testing.T) {
	now := time.Date(2000, 1, 1, 0, 10, 0, 0, time.UTC)
	timeOf := func(t time.Time) *metav1.Time { return &metav1.Time{Time: t} }
	for _, test := range []struct {
		name    string
		options corev1.PodLogOptions
		want    stdio.Options
	}{
		{"all of it", corev1.PodLogOptions{}, stdio.Options{Tail: -1, Bytes: -1}},
		{"the end, with times", corev1.PodLogOptions{Timestamps: true, TailLines: new(int64(0)), LimitBytes: new(int64(9))}, stdio.Options{Timestamps: true, Bytes: 9}},
		{"since a minute", corev1.PodLogOptions{Follow: true, SinceSeconds: new(int64(60))}, stdio.Options{Follow: true, Tail: -1, Bytes: -1, Since: now.Add(-time.Minute)}},
		{"since a time", corev1.PodLogOptions{SinceTime: timeOf(now.Add(-time.Hour))}, stdio.Options{Tail: -1, Bytes: -1, Since: now.Add(-time.Hour)}},
		{"since the later one", corev1.PodLogOptions{SinceSeconds: new(int64(60)), SinceTime: timeOf(now.Add(-time.Hour))},
			stdio.Options{Tail: -1, Bytes: -1, Since: now.Add(-time.Minute)}},
	} {
		if got := logOptions(&test.options, now); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
