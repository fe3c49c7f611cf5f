package node_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/node"
	"github.com/fakecluster/fakecluster/workloads/internal/node/nodetest"
)

// document returns an object as YAML, without what differs between runs.
func document(t *testing.T, object metav1.Object) string {
	t.Helper()
	uid := string(object.GetUID())
	object.SetManagedFields(nil)
	object.SetResourceVersion("")
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), uid, "UID")
}

func TestNodesAreRegisteredAsByAKubelet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{Nodes: node.Nodes(4)})
		synctest.Wait()
		nodetest.Golden(t, document(t, w.Node("n1")))
		var zones []string
		for i := range 4 {
			zones = append(zones, w.Node(fmt.Sprintf("n%d", i+1)).Labels[corev1.LabelTopologyZone])
		}
		if diff := cmp.Diff([]string{"region-1a", "region-1b", "region-1a", "region-1b"}, zones); diff != "" {
			t.Errorf("zones (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"Normal Starting: Starting kubelet."}, w.Events("n1")); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestThePodOfAReadyContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{Seed: 7})
		synctest.Wait()
		w.Create("p", func(p *corev1.Pod) {
			p.UID = "UID"
			c := &p.Spec.Containers[0]
			c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
			c.VolumeMounts = []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp", ReadOnly: true}}
			p.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		})
		time.Sleep(time.Second)
		p := w.Pod("p")
		// The id of a container follows from the uid of the pod, which is random.
		p.Status.ContainerStatuses[0].ContainerID = p.Status.ContainerStatuses[0].ContainerID[:len("containerd://")]
		nodetest.Golden(t, document(t, p))
	})
}

func TestLeasesAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{})
		for range 200 {
			time.Sleep(7 * time.Second)
			if age := time.Since(w.Lease("n1").Spec.RenewTime.Time); age > 10*time.Second {
				t.Fatalf("the Lease is %s old", age)
			}
		}
		lease := w.Lease("n1")
		if owner := lease.OwnerReferences[0]; owner.Kind != "Node" || owner.UID != w.Node("n1").UID {
			t.Errorf("the owner is %+v, not the node", owner)
		}
		if *lease.Spec.HolderIdentity != "n1" || *lease.Spec.LeaseDurationSeconds != 40 {
			t.Errorf("the Lease is %+v", lease.Spec)
		}
	})
}

// TestABeatIsWrittenIfItMakesADifference proves that an idle node does not write its Lease, and that all who could find
// out see the renewals of a kubelet.
func TestABeatIsWrittenIfItMakesADifference(t *testing.T) {
	renewals := func(w *nodetest.World) (n int) {
		for _, r := range w.Cluster.Requests() {
			if r.Resource == "leases" && r.Verb == "patch" {
				n++
			}
		}
		return n
	}
	const idle = 30 * time.Minute // the status is written each hour
	for _, c := range []struct {
		name string
		do   func(w *nodetest.World)
		want int // in the minute after
	}{
		{"nothing happens", func(*nodetest.World) {}, 0},
		{"something is written", func(w *nodetest.World) { w.Create("p", func(p *corev1.Pod) { p.Spec.NodeName = "" }) }, 1},
		{"a client reads one", func(w *nodetest.World) { w.Lease("n1") }, 1},
		{"a client lists them", func(w *nodetest.World) {
			list, err := w.Admin.CoordinationV1().Leases("").List(w.Context(), metav1.ListOptions{})
			if err != nil || time.Since(list.Items[0].Spec.RenewTime.Time) > 10*time.Second {
				w.Errorf("the list is %v, %v", list, err)
			}
		}, 1},
		{"a client watches them", func(w *nodetest.World) {
			watched, err := w.Admin.CoordinationV1().Leases(corev1.NamespaceNodeLease).Watch(w.Context(), metav1.ListOptions{})
			if err != nil {
				w.Fatal(err)
			}
			time.AfterFunc(30*time.Second, watched.Stop)
		}, 4}, // one when the watch begins
		{"a fault is in force", func(w *nodetest.World) {
			f := w.Cluster.Inject(faults.Fault{Verb: "delete", Resource: "pods", Effect: faults.InternalError("on purpose"), Optional: true})
			time.AfterFunc(30*time.Second, f.Stop)
		}, 3},
		{"the Lease cannot be written", func(w *nodetest.World) {
			f := w.Cluster.Inject(faults.Fault{Verb: "patch", Resource: "leases.coordination.k8s.io", Effect: faults.InternalError("on purpose")})
			time.AfterFunc(25*time.Second, f.Stop)
		}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := nodetest.New(t, node.Config{})
				time.Sleep(idle + time.Second)
				before := renewals(w)
				c.do(w)
				time.Sleep(time.Minute)
				if got := renewals(w) - before; got != c.want {
					t.Errorf("the Lease is written %d times, want %d", got, c.want)
				}
				if last, beats, found := w.Agent.Beat("n1"); !found || !beats || time.Since(last) > 10*time.Second {
					t.Errorf("the last beat was %s ago: %t %t", time.Since(last), beats, found)
				}
			})
		})
	}
}

func TestANodeWithoutHeartbeatsDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{})
		w.Create("p")
		time.Sleep(30 * time.Second)
		if err := w.Handle("n1").StopHeartbeats(t.Context()); err != nil {
			t.Fatal(err)
		}
		stopped := time.Now()
		w.Create("late")
		w.Delete("p")
		time.Sleep(time.Hour)
		if got := w.Lease("n1").Spec.RenewTime.Time; !got.Equal(stopped) {
			t.Errorf("the Lease is of %s, want %s", got, stopped)
		}
		if p := w.Pod("late"); p.Status.StartTime != nil {
			t.Errorf("a pod has started: %+v", p.Status)
		}
		if p := w.Pod("p"); p.DeletionTimestamp == nil {
			t.Error("the deleted pod is not Terminating")
		}
		if err := w.Handle("n1").ResumeHeartbeats(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got := w.Lease("n1").Spec.RenewTime.Time; time.Since(got) > time.Second {
			t.Errorf("the Lease is of %s, an hour ago", got)
		}
		if p := w.Pod("late"); p.Status.Phase != corev1.PodRunning {
			t.Errorf("the pod that waited is %s", p.Status.Phase)
		}
		if _, err := w.Admin.CoreV1().Pods("default").Get(t.Context(), "p", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the deleted pod: %v", err)
		}
	})
}

// TestAKubeletRestoresStatuses proves that a node writes the status of a pod again that somebody else has changed: within ten seconds,
// or when its heartbeats resume. Conditions of others stay.
func TestAKubeletRestoresStatuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{})
		w.Create("p")
		time.Sleep(30 * time.Second)
		ready := func() corev1.PodCondition { return *podCondition(w.Pod("p"), corev1.PodReady) }
		before := ready()
		overwrite := func() {
			t.Helper()
			const patch = `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Mine"},{"type":"example.com/other","status":"False"}]}}`
			if _, err := w.Admin.CoreV1().Pods("default").Patch(t.Context(), "p", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
				t.Fatal(err)
			}
		}
		check := func(want corev1.PodCondition, when string) {
			t.Helper()
			if diff := cmp.Diff(want, ready()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		overwrite()
		mine := ready()
		if mine.Status != corev1.ConditionFalse || mine.Reason != "Mine" {
			t.Fatalf("the overwritten condition is %v", mine)
		}
		time.Sleep(9 * time.Second)
		check(mine, "after nine seconds")
		time.Sleep(2 * time.Second)
		check(before, "after eleven seconds")
		if c := podCondition(w.Pod("p"), "example.com/other"); c == nil || c.Status != corev1.ConditionFalse {
			t.Errorf("the condition of another controller is %v", c)
		}
		written := w.Pod("p").ResourceVersion
		time.Sleep(time.Hour)
		if got := w.Pod("p").ResourceVersion; got != written {
			t.Errorf("the pod is written again, %s after %s", got, written)
		}

		if err := w.Handle("n1").StopHeartbeats(t.Context()); err != nil {
			t.Fatal(err)
		}
		overwrite()
		time.Sleep(time.Minute)
		check(mine, "while the heartbeats are stopped")
		if err := w.Handle("n1").ResumeHeartbeats(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		check(before, "after the heartbeats have resumed")
	})
}

// podCondition returns a condition of a pod, or nil.
func podCondition(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &p.Status.Conditions[i]
}

func TestPressureIsACondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{})
		synctest.Wait()
		status := func() string {
			for _, c := range w.Node("n1").Status.Conditions {
				if c.Type == corev1.NodeDiskPressure {
					return string(c.Status) + " " + c.Reason
				}
			}
			return ""
		}
		for _, test := range []struct {
			on   bool
			want string
		}{{true, "True KubeletHasDiskPressure"}, {false, "False KubeletHasNoDiskPressure"}} {
			if err := w.Handle("n1").SetPressure(t.Context(), corev1.NodeDiskPressure, test.on); err != nil {
				t.Fatal(err)
			}
			if got := status(); got != test.want {
				t.Errorf("DiskPressure %t: %s, want %s", test.on, got, test.want)
			}
		}
		wantEvents := []string{
			"Normal Starting: Starting kubelet.",
			"Normal NodeHasDiskPressure: Node n1 status is now: NodeHasDiskPressure",
			"Normal NodeHasNoDiskPressure: Node n1 status is now: NodeHasNoDiskPressure",
		}
		if diff := cmp.Diff(wantEvents, w.Events("n1")); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		const want = "condition Ready of node n1 cannot be set: use MemoryPressure, DiskPressure or PIDPressure"
		if err := w.Handle("n1").SetPressure(t.Context(), corev1.NodeReady, true); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	})
}

func TestADrainedNodeIsEmptyAndCordoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{}, []cri.Behavior{{TerminationDelay: 10 * time.Second}}...)
		synctest.Wait()
		labels := map[string]string{"app": "web"}
		w.Create("daemon", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "u", Controller: ptr.To(true)}}
		})
		w.Create("done", func(p *corev1.Pod) {
			p.Spec.RestartPolicy = corev1.RestartPolicyNever
			p.Spec.Containers[0].Command = []string{"true"}
		})
		for _, name := range []string{"a", "b"} {
			w.Create(name, func(p *corev1.Pod) { p.Labels = labels })
		}
		time.Sleep(5 * time.Second)
		budget, err := w.Admin.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		allow := func(n int32) {
			budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: n, CurrentHealthy: 2, DesiredHealthy: 1, ExpectedPods: 2}
			if budget, err = w.Admin.PolicyV1().PodDisruptionBudgets("default").UpdateStatus(t.Context(), budget, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		allow(0)
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		const want = "drain node n1: context deadline exceeded; remaining pods: [default/a default/b]"
		if err := w.Handle("n1").Drain(ctx); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		allow(2)
		began := time.Now()
		if err := w.Handle("n1").Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("the drain took %s, not as long as the pods end", took)
		}
		list, err := w.Admin.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		if diff := cmp.Diff([]string{"daemon", "done"}, names); diff != "" {
			t.Errorf("pods (-want +got):\n%s", diff)
		}
		if !w.Node("n1").Spec.Unschedulable {
			t.Error("the node is schedulable")
		}
		if err := w.Handle("n1").Uncordon(t.Context()); err != nil || w.Node("n1").Spec.Unschedulable {
			t.Errorf("the node is not schedulable again: %v", err)
		}
	})
}

func TestRunningContainersUseWhatTheirBehaviorSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		usage := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("1Gi")}
		w := nodetest.New(t, node.Config{}, []cri.Behavior{{Image: "web", Usage: usage}}...)
		w.Create("p", func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "d", Image: "other"})
		})
		synctest.Wait()
		if got := w.Programs.Usage(w.Pod("p")); len(got) > 0 {
			t.Errorf("before they run, the containers use %v", got)
		}
		time.Sleep(2 * time.Second)
		if diff := cmp.Diff(map[string]corev1.ResourceList{"c": usage, "d": nil}, w.Programs.Usage(w.Pod("p"))); diff != "" {
			t.Errorf("usage (-want +got):\n%s", diff)
		}
	})
}

func TestADeletedNodeDoesNotComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{})
		synctest.Wait()
		if err := w.Handle("n1").Delete(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if _, err := w.Admin.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the node: %v", err)
		}
	})
}

func TestAnotherAgentTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		behavior := cri.Behavior{Name: "job", RunTime: time.Minute}
		w := nodetest.New(t, node.Config{}, behavior)
		w.Create("job", func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever })
		w.Create("web")
		time.Sleep(20 * time.Second)
		before := w.Pod("web").Status
		w.Stop()
		time.Sleep(10 * time.Second)
		w.Start(node.Config{}, behavior)
		time.Sleep(10 * time.Second)
		if diff := cmp.Diff(before, w.Pod("web").Status); diff != "" {
			t.Errorf("the status has changed (-before +after):\n%s", diff)
		}
		time.Sleep(22 * time.Second)
		if p := w.Pod("job"); p.Status.Phase != corev1.PodSucceeded {
			t.Errorf("after its run time the pod is %s", p.Status.Phase)
		}
		want := []string{
			"Normal Pulling", "Normal Pulled", "Normal Created", "Normal Started",
		}
		var got []string
		for _, e := range w.Events("web") {
			reason, _, _ := strings.Cut(e, ":")
			got = append(got, reason)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		w.Delete("web")
		time.Sleep(time.Second)
		if _, err := w.Admin.CoreV1().Pods("default").Get(t.Context(), "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the deleted pod: %v", err)
		}
	})
}

// TestANewPodGetsWhatThosePodsLeaveThatRan proves that an agent takes over all Pods of the one before it admits a new one.
func TestANewPodGetsWhatThosePodsLeaveThatRan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{})
		w.Create("old", nodetest.Requests("5", "1Gi"))
		time.Sleep(5 * time.Second)
		w.Stop()
		names := []string{"a", "later", "new", "x", "z"}
		for _, name := range names {
			w.Create(name, nodetest.Requests("3.5", "1Gi"))
		}
		w.Create("small", nodetest.Requests("3", "1Gi"))
		w.Start(node.Config{})
		time.Sleep(5 * time.Second)
		for _, name := range names {
			if s := w.Pod(name).Status; s.Phase != corev1.PodFailed || s.Reason != "OutOfcpu" {
				t.Errorf("the new Pod %s is %s %s", name, s.Phase, s.Reason)
			}
		}
		for _, name := range []string{"old", "small"} {
			if s := w.Pod(name).Status; s.Phase != corev1.PodRunning {
				t.Errorf("Pod %s is %s %s", name, s.Phase, s.Reason)
			}
		}
	})
}

func TestPodsThatAreDeletedAtOnceEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{})
		first := w.Create("p")
		time.Sleep(time.Second)
		if err := w.Admin.CoreV1().Pods("default").Delete(t.Context(), "p", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
			t.Fatal(err)
		}
		second := w.Create("p")
		time.Sleep(time.Second)
		if p := w.Pod("p"); p.UID != second.UID || p.Status.Phase != corev1.PodRunning {
			t.Errorf("the second pod is %s", p.Status.Phase)
		}
		list, err := w.Admin.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=Killing"})
		if err != nil || len(list.Items) != 1 || list.Items[0].InvolvedObject.UID != first.UID {
			t.Errorf("the first container is killed once; the events are %+v, %v", list.Items, err)
		}
	})
}

func TestBehaviorsThatMatchNothingAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodetest.New(t, node.Config{}, []cri.Behavior{{Image: "wbe"}, {Image: "web"}}...)
		w.Create("p")
		time.Sleep(time.Second)
		if got := fmt.Sprint(w.Programs.Unmatched()); got != "[image wbe]" {
			t.Errorf("unmatched: %s", got)
		}
	})
}

func TestImpossibleNodesAreRejected(t *testing.T) {
	named := func(name string, change func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		change(n)
		return n
	}
	nothing := func(*corev1.Node) {}
	for _, test := range []struct {
		nodes []*corev1.Node
		want  string
	}{
		{[]*corev1.Node{named("a", nothing), named("a", nothing)}, "node a is given twice"},
		{[]*corev1.Node{named("a_b", nothing)}, `node name "a_b": a lowercase RFC 1123 subdomain must consist of`},
		{[]*corev1.Node{named("a", func(n *corev1.Node) {
			n.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("-1")}
		})}, "node a: capacity of cpu is negative: -1"},
		{[]*corev1.Node{named("a", func(n *corev1.Node) {
			n.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
			n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
		})}, "node a: allocatable cpu is 4, more than its capacity of 2"},
		{[]*corev1.Node{named("a", func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady}}
		})}, "node a: conditions are written by the node; leave status.conditions empty, and call SetPressure of the node for pressure"},
	} {
		if _, err := node.Start(context.Background(), node.Config{Nodes: test.nodes}); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("error %v, want %s", err, test.want)
		}
	}
}
