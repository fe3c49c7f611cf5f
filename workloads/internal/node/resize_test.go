package node_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/workloads/internal/node"
)

// asks returns the resources of a container that asks for CPUs and for Gi of memory.
func asks(cpu, memory string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)}
	}
}

// resize asks for other resources of the container c.
func (w *world) resize(name, cpu, memory string) {
	w.Helper()
	patch := fmt.Sprintf(`{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":%q,"memory":%q}}}]}}`, cpu, memory)
	if _, err := w.admin.CoreV1().Pods("default").Patch(w.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "resize"); err != nil {
		w.Fatal(err)
	}
}

// resources returns what the status of a pod says about its resources: those that the node has allocated, those that the container has,
// its restarts, and the conditions.
func (w *world) resources(name string) string {
	w.Helper()
	synctest.Wait()
	pod := w.pod(name)
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

func (w *world) resizeEvents(name string) (found []string) {
	w.Helper()
	for _, e := range w.events(name) {
		if strings.Contains(e, "Resize") || strings.Contains(e, "resize") {
			found = append(found, e)
		}
	}
	return found
}

func (w *world) same(got, want string) {
	w.Helper()
	if got != want {
		w.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAPodIsResized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, node.Config{})
		w.create("web", asks("1", "1Gi"))
		time.Sleep(5 * time.Second)
		started := w.pod("web").Status.ContainerStatuses[0].State.Running.StartedAt
		w.same(w.resources("web"), "allocated 1/1Gi has 1/1Gi")

		w.resize("web", "2", "512Mi")
		w.same(w.resources("web"), "allocated 2/512Mi has 1/1Gi PodResizeInProgress=True of 2")
		time.Sleep(time.Second)
		w.same(w.resources("web"), "allocated 2/512Mi has 2/512Mi")
		if startedAt := w.pod("web").Status.ContainerStatuses[0].State.Running.StartedAt; !startedAt.Equal(&started) {
			t.Errorf("the container runs since %v, not %v", startedAt, started)
		}
		const what = `: {"containers":[{"name":"c","resources":{"requests":{"cpu":"2","memory":"512Mi"}}}],"generation":2}`
		if diff := cmp.Diff([]string{"Normal ResizeStarted: Pod resize started" + what, "Normal ResizeCompleted: Pod resize completed" + what}, w.resizeEvents("web")); diff != "" {
			t.Errorf("the Events (-want +got):\n%s", diff)
		}
		if got := w.pod("web").Status.ObservedGeneration; got != 2 {
			t.Errorf("the observed generation is %d", got)
		}
	})
}

// TestResizePolicies proves that a container restarts only for the resources whose policy says so.
func TestResizePolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, node.Config{})
		w.create("web", asks("1", "1Gi"), func(p *corev1.Pod) {
			p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{
				{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.NotRequired}, {ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer},
			}
		})
		time.Sleep(5 * time.Second)
		w.resize("web", "2", "1Gi")
		time.Sleep(5 * time.Second)
		w.same(w.resources("web"), "allocated 2/1Gi has 2/1Gi")
		w.resize("web", "2", "2Gi")
		w.same(w.resources("web"), "allocated 2/2Gi has 2/1Gi PodResizeInProgress=True of 3")
		time.Sleep(5 * time.Second)
		w.same(w.resources("web"), "allocated 2/2Gi has 2/2Gi restarts 1")
		if events := w.events("web"); !slices.Contains(events, "Normal Killing: Container c resize requires restart") {
			t.Errorf("the Events are %v", events)
		}
	})
}

// TestAResizeIsDeferred proves that a Node does not allocate what it does not have, and does it when another Pod is gone.
func TestAResizeIsDeferred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, node.Config{})
		w.create("web", asks("1", "1Gi"))
		w.create("later", asks("1", "1Gi"))
		w.create("other", asks("5", "1Gi"))
		time.Sleep(5 * time.Second)
		const deferred = "allocated 1/1Gi has 1/1Gi PodResizePending=True of 2 Deferred: Node didn't have enough resource: cpu, requested: 4000, used: 6000, capacity: 8000"
		w.resize("web", "4", "1Gi")
		w.same(w.resources("web"), deferred)
		time.Sleep(10 * time.Minute)
		w.same(w.resources("web"), deferred)
		want := []string{`Warning ResizeDeferred: Pod resize OutOfcpu: {"containers":[{"name":"c","resources":{"requests":{"cpu":"4","memory":"1Gi"}}}],"generation":2,` +
			`"error":"Node didn't have enough resource: cpu, requested: 4000, used: 6000, capacity: 8000"}`}
		if diff := cmp.Diff(want, w.resizeEvents("web")); diff != "" {
			t.Errorf("the Events (-want +got):\n%s", diff)
		}
		w.resize("later", "5", "1Gi")
		w.delete("other")
		time.Sleep(40 * time.Second)
		w.same(w.resources("web"), "allocated 4/1Gi has 4/1Gi")
		w.same(w.resources("later"), "allocated 1/1Gi has 1/1Gi PodResizePending=True of 2 Deferred: Node didn't have enough resource: cpu, requested: 5000, used: 4000, capacity: 8000")

		w.resize("later", "1", "1Gi") // it does not want any more
		w.same(w.resources("later"), "allocated 1/1Gi has 1/1Gi")
		w.resize("later", "6", "1Gi")
		time.Sleep(time.Second)
		w.resize("web", "2", "1Gi") // a Pod that asks for less makes room
		time.Sleep(5 * time.Second)
		w.same(w.resources("later"), "allocated 6/1Gi has 6/1Gi")
	})
}

// TestAResizeOutlivesTheAgent proves that another agent goes on with what the status says.
func TestAResizeOutlivesTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, node.Config{})
		w.create("web", asks("1", "1Gi"))
		w.create("other", asks("5", "1Gi"))
		time.Sleep(5 * time.Second)
		w.resize("web", "4", "1Gi")
		before := w.resources("web")
		w.stop()
		w.start(node.Config{})
		time.Sleep(5 * time.Second)
		w.same(w.resources("web"), before)
		w.delete("other")
		time.Sleep(time.Minute)
		w.same(w.resources("web"), "allocated 4/1Gi has 4/1Gi")
	})
}
