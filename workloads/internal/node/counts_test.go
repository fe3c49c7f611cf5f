package node_test

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/workloads/internal/kubelet"
	"github.com/fakecluster/fakecluster/workloads/internal/node"
)

// TestANodeCountsWhatItStarts proves that attempts and failures are counted, and that a back-off is not an attempt.
func TestANodeCountsWhatItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, node.Config{Behaviors: []node.Behavior{{Image: "private", PullError: "pull access denied"}, {Image: "broken", ExitCode: new(int32(1))}}})
		w.prepareRefusals()
		w.create("fine", func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "i:1"}} })
		w.create("private", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "private:1" })
		w.create("broken", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "broken:1" })
		w.create("kata", runtimeClass("kata"))
		time.Sleep(5 * time.Second)
		got := w.agent.Kubelets()[0].Counts()
		want := kubelet.Counts{
			Pods: 4, PodErrors: 1, Containers: map[string]int{"container": 5, "init_container": 1},
			ContainerErrors: map[kubelet.Failures]int{{Type: "container", Code: "ErrImagePull"}: 1, {Type: "container", Code: "ImagePullBackOff"}: 1},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
