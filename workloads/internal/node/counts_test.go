package node_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/kubelet"
	"github.com/fakecluster/fakecluster/workloads/internal/node"
	"github.com/fakecluster/fakecluster/workloads/internal/node/nodetest"
)

// TestANodeCountsWhatItStarts proves that attempts and failures are counted, and that a back-off is not an attempt.
func TestANodeCountsWhatItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{}, []cri.Behavior{{Image: "private", PullError: "pull access denied"}, {Image: "broken", ExitCode: new(int32(1))}}...)
		w.PrepareRefusals()
		w.Create("fine", func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "i:1"}} })
		w.Create("private", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "private:1" })
		w.Create("broken", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "broken:1" })
		w.Create("kata", nodetest.RuntimeClass("kata"))
		time.Sleep(5 * time.Second)
		got := w.Agent.Kubelets()[0].Counts()
		if sizes := got.Sizes; sizes.Count != 4 || sizes.Sum != 4 {
			t.Errorf("%d pods with %v containers", sizes.Count, sizes.Sum)
		}
		if starts := got.PodStarts; starts.Count != 6 || starts.Sum < 0.5 || starts.Sum > 5 { // four first syncs, two pods that run
			t.Errorf("%d starts in %v s", starts.Count, starts.Sum)
		}
		got.Sizes, got.PodStarts = kubelet.Histogram{}, kubelet.Histogram{}
		want := kubelet.Counts{
			Pods: 4, PodErrors: 1, Terminated: map[kubelet.End]int{{Type: "container", ExitCode: "1", Reason: "Error"}: 1, {Type: "init_container", ExitCode: "0", Reason: "Completed"}: 1}, Containers: map[string]int{"container": 5, "init_container": 1},
			ContainerErrors: map[kubelet.Failures]int{{Type: "container", Code: "ErrImagePull"}: 1, {Type: "container", Code: "ImagePullBackOff"}: 1},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// TestANodeCountsProbes proves that the runs of probes are counted by their results, those too that are left out because they pass.
func TestANodeCountsProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{}, []cri.Behavior{{Image: "late", ReadyDelay: 30 * time.Second}}...)
		probed := func(image string) func(*corev1.Pod) {
			return func(p *corev1.Pod) {
				p.Spec.Containers[0].Image = image
				handler := corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(80)}}
				p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: handler, PeriodSeconds: 10}
				p.Spec.Containers[0].LivenessProbe = &corev1.Probe{ProbeHandler: handler, PeriodSeconds: 7}
			}
		}
		w.Create("web", probed("web:1"))
		w.Create("late", probed("late:1"))
		counts := func() string {
			var lines []string
			for probe, runs := range w.Agent.Kubelets()[0].Probes() {
				lines = append(lines, fmt.Sprintf("%s %s %d %d", probe.Pod, probe.Kind, runs.Passed.Count, runs.Failed))
			}
			slices.Sort(lines)
			return strings.Join(lines, ", ")
		}
		time.Sleep(95 * time.Second)
		if got, want := counts(), "late Liveness 13 0, late Readiness 7 4, web Liveness 13 0, web Readiness 10 0"; got != want {
			t.Errorf("after 95 seconds: got %s, want %s", got, want)
		}
		time.Sleep(time.Hour)
		if got, want := counts(), "late Liveness 527 0, late Readiness 367 4, web Liveness 527 0, web Readiness 370 0"; got != want {
			t.Errorf("an hour later: got %s, want %s", got, want)
		}
		if err := w.Admin.CoreV1().Pods("default").Delete(t.Context(), "late", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got, want := counts(), "web Liveness 536 0, web Readiness 376 0"; got != want {
			t.Errorf("after a deletion: got %s, want %s", got, want)
		}
	})
}
