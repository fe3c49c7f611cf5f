package pod_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/workloads/internal/node"
	"github.com/fakecluster/fakecluster/workloads/internal/node/nodetest"
)

// resize asks for other resources of the container c.
func resize(w *nodetest.World, name, cpu, memory string) {
	w.Helper()
	patch := fmt.Sprintf(`{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":%q,"memory":%q}}}]}}`, cpu, memory)
	if _, err := w.Admin.CoreV1().Pods("default").Patch(w.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "resize"); err != nil {
		w.Fatal(err)
	}
}

// resources returns what the status of a pod says about its resources: those that the node has allocated, those that the container has,
// its restarts, and the conditions.
func resources(w *nodetest.World, name string) string {
	w.Helper()
	synctest.Wait()
	pod := w.Pod(name)
	s := pod.Status.ContainerStatuses[0]
	text := fmt.Sprintf("allocated %s/%s has %s/%s", s.AllocatedResources.Cpu(), s.AllocatedResources.Memory(), s.Resources.Requests.Cpu(), s.Resources.Requests.Memory())
	if s.RestartCount > 0 {
		text += fmt.Sprintf(" restarts %d", s.RestartCount)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodResizePending || c.Type == corev1.PodResizeInProgress {
			text += strings.TrimSuffix(fmt.Sprintf(" %s=%s of %d %s: %s", c.Type, c.Status, c.ObservedGeneration, c.Reason, c.Message), " : ")
		}
	}
	return text
}

func resizeEvents(w *nodetest.World, name string) (found []string) {
	w.Helper()
	for _, e := range w.Events(name) {
		if strings.Contains(e, "Resize") || strings.Contains(e, "resize") {
			found = append(found, e)
		}
	}
	return found
}

func same(w *nodetest.World, got, want string) {
	w.Helper()
	if got != want {
		w.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAPodIsResized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{})
		w.Create("web", nodetest.Requests("1", "1Gi"))
		time.Sleep(5 * time.Second)
		started := w.Pod("web").Status.ContainerStatuses[0].State.Running.StartedAt
		same(w, resources(w, "web"), "allocated 1/1Gi has 1/1Gi")

		resize(w, "web", "2", "512Mi")
		same(w, resources(w, "web"), "allocated 2/512Mi has 1/1Gi PodResizeInProgress=True of 2")
		time.Sleep(time.Second)
		same(w, resources(w, "web"), "allocated 2/512Mi has 2/512Mi")
		if startedAt := w.Pod("web").Status.ContainerStatuses[0].State.Running.StartedAt; !startedAt.Equal(&started) {
			t.Errorf("the container runs since %v, not %v", startedAt, started)
		}
		const what = `: {"containers":[{"name":"c","resources":{"requests":{"cpu":"2","memory":"512Mi"}}}],"generation":2}`
		if diff := cmp.Diff([]string{"Normal ResizeStarted: Pod resize started" + what, "Normal ResizeCompleted: Pod resize completed" + what}, resizeEvents(w, "web")); diff != "" {
			t.Errorf("the Events (-want +got):\n%s", diff)
		}
		if got := w.Pod("web").Status.ObservedGeneration; got != 2 {
			t.Errorf("the observed generation is %d", got)
		}
	})
}

// TestResizePolicies proves that a container restarts only for the resources whose policy says so.
func TestResizePolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{})
		w.Create("web", nodetest.Requests("1", "1Gi"), func(p *corev1.Pod) {
			p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{
				{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.NotRequired}, {ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer},
			}
		})
		time.Sleep(5 * time.Second)
		resize(w, "web", "2", "1Gi")
		time.Sleep(5 * time.Second)
		same(w, resources(w, "web"), "allocated 2/1Gi has 2/1Gi")
		resize(w, "web", "2", "2Gi")
		same(w, resources(w, "web"), "allocated 2/2Gi has 2/1Gi PodResizeInProgress=True of 3")
		time.Sleep(5 * time.Second)
		same(w, resources(w, "web"), "allocated 2/2Gi has 2/2Gi restarts 1")
		if events := w.Events("web"); !slices.Contains(events, "Normal Killing: Container c resize requires restart") {
			t.Errorf("the Events are %v", events)
		}
	})
}

// TestAResizeIsDeferred proves that a Node does not allocate what it does not have, and does it when another Pod is gone.
func TestAResizeIsDeferred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{})
		w.Create("web", nodetest.Requests("1", "1Gi"))
		w.Create("later", nodetest.Requests("1", "1Gi"))
		w.Create("other", nodetest.Requests("5", "1Gi"))
		time.Sleep(5 * time.Second)
		const deferred = "allocated 1/1Gi has 1/1Gi PodResizePending=True of 2 Deferred: Node didn't have enough resource: cpu, requested: 4000, used: 6000, capacity: 8000"
		resize(w, "web", "4", "1Gi")
		same(w, resources(w, "web"), deferred)
		time.Sleep(10 * time.Minute)
		same(w, resources(w, "web"), deferred)
		want := []string{`Warning ResizeDeferred: Pod resize OutOfcpu: {"containers":[{"name":"c","resources":{"requests":{"cpu":"4","memory":"1Gi"}}}],"generation":2,` +
			`"error":"Node didn't have enough resource: cpu, requested: 4000, used: 6000, capacity: 8000"}`}
		if diff := cmp.Diff(want, resizeEvents(w, "web")); diff != "" {
			t.Errorf("the Events (-want +got):\n%s", diff)
		}
		resize(w, "later", "5", "1Gi")
		w.Delete("other")
		time.Sleep(40 * time.Second)
		same(w, resources(w, "web"), "allocated 4/1Gi has 4/1Gi")
		same(w, resources(w, "later"), "allocated 1/1Gi has 1/1Gi PodResizePending=True of 2 Deferred: Node didn't have enough resource: cpu, requested: 5000, used: 4000, capacity: 8000")

		resize(w, "later", "1", "1Gi") // it does not want any more
		same(w, resources(w, "later"), "allocated 1/1Gi has 1/1Gi")
		resize(w, "later", "6", "1Gi")
		time.Sleep(time.Second)
		resize(w, "web", "2", "1Gi") // a Pod that asks for less makes room
		time.Sleep(5 * time.Second)
		same(w, resources(w, "later"), "allocated 6/1Gi has 6/1Gi")
	})
}

// TestAResizeOutlivesTheAgent proves that another agent goes on with what the status says.
func TestAResizeOutlivesTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{})
		w.Create("web", nodetest.Requests("1", "1Gi"))
		w.Create("other", nodetest.Requests("5", "1Gi"))
		time.Sleep(5 * time.Second)
		resize(w, "web", "4", "1Gi")
		before := resources(w, "web")
		w.Stop()
		w.Start(node.Config{})
		time.Sleep(5 * time.Second)
		same(w, resources(w, "web"), before)
		w.Delete("other")
		time.Sleep(time.Minute)
		same(w, resources(w, "web"), "allocated 4/1Gi has 4/1Gi")
	})
}
