package workloads_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/workloads"
)

func TestPodsRunOnNodes(t *testing.T) {
	for _, c := range []struct {
		name string
		opts []workloads.Option
		test func(w world)
	}{
		{"a Deployment becomes available", nil, func(w world) {
			w.create(workload("apps/v1", "Deployment", "web", "replicas: 3") + "---\n" + service)
			w.pass(5 * time.Second)
			if got := condition(w.object("deployments.apps", "web"), "Available"); got != "True MinimumReplicasAvailable" {
				w.Errorf("the condition is %q", got)
			}
			slices := w.list("endpointslices.discovery.k8s.io")
			if i := indexOf(slices, "web-"); i < 0 || strings.Count(field(&slices[i], "endpoints"), "ready: true") != 3 {
				w.Errorf("the slices are %v", slices)
			}
		}},
		{"a Job completes", nil, func(w world) {
			w.create(job("once", ""))
			w.pass(10 * time.Second)
			if got := condition(w.object("jobs.batch", "once"), "Complete"); got != "True CompletionsReached" {
				w.Errorf("the condition is %q", got)
			}
		}},
		{"a StatefulSet gets a volume for each Pod", nil, func(w world) {
			w.create(workload("apps/v1", "StatefulSet", "db", `
replicas: 2
serviceName: db
volumeClaimTemplates:
- metadata: {name: data}
  spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`))
			w.pass(time.Minute)
			if got := field(w.object("statefulsets.apps", "db"), "status.availableReplicas"); got != "2" {
				w.Errorf("%s replicas are available", got)
			}
			for _, claim := range []string{"data-db-0", "data-db-1"} {
				c := w.object("persistentvolumeclaims", claim)
				if got := field(c, "status.phase") + " " + field(c, "spec.storageClassName"); got != "Bound standard" {
					w.Errorf("the claim %s is %s", claim, got)
				}
			}
		}},
		{"a Node that cannot renew its Lease after a day becomes unready 50 seconds later", nil, func(w world) {
			w.pass(24 * time.Hour)
			w.cluster.Inject(faults.Fault{Verb: "patch", Resource: "leases.coordination.k8s.io", Name: "n2", Effect: faults.InternalError("on purpose")})
			w.pass(45 * time.Second)
			if got := condition(w.object("nodes", "n2"), "Ready"); got != "True KubeletReady" {
				w.Errorf("at once, the condition of n2 is %q", got)
			}
			w.pass(25 * time.Second)
			for name, want := range map[string]string{"n1": "True KubeletReady", "n2": "Unknown NodeStatusUnknown"} {
				if got := condition(w.object("nodes", name), "Ready"); got != want {
					w.Errorf("the condition of %s is %q, want %q", name, got, want)
				}
			}
			if got := field(w.object("nodes", "n2"), "spec.taints"); !strings.Contains(got, "effect: NoExecute\n  key: node.kubernetes.io/unreachable") {
				w.Errorf("the taints of n2 are %s", got)
			}
		}},
		{"a Node whose heartbeats stop loses its Pods", nil, func(w world) {
			w.create(workload("apps/v1", "Deployment", "web", "replicas: 3"))
			w.pass(5 * time.Second)
			n, err := w.Node("n1")
			if err != nil {
				w.Fatal(err)
			}
			if err := n.StopHeartbeats(w.Context()); err != nil {
				w.Fatal(err)
			}
			w.pass(8 * time.Minute)
			if got := condition(w.object("nodes", "n1"), "Ready"); got != "Unknown NodeStatusUnknown" {
				w.Errorf("the condition is %q", got)
			}
			for _, p := range w.list("pods") {
				if field(&p, "spec.nodeName") == "n1" && p.GetDeletionTimestamp() == nil {
					w.Errorf("the Pod %s stays on n1", p.GetName())
				}
			}
			if got := field(w.object("deployments.apps", "web"), "status.availableReplicas"); got != "3" {
				w.Errorf("%s replicas are available", got)
			}
		}},
		{"a behavior makes a container crash", []workloads.Option{workloads.Behaviors(workloads.Behavior{Image: "nginx", ExitCode: new(int32(3))})}, func(w world) {
			w.create(pod("web", ""))
			w.pass(time.Minute)
			if got := field(w.object("pods", "web"), "status.containerStatuses"); !strings.Contains(got, "reason: CrashLoopBackOff") || !strings.Contains(got, "exitCode: 3") {
				w.Errorf("the container statuses are %s", got)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, c.test, append(c.opts, workloads.Nodes(3))...)
		})
	}
}

// TestANodeFailsAndComesBack proves that a Node gets both taints as soon as it is taken for lost, and that its Pods are ready again when it
// is, without having been restarted.
func TestANodeFailsAndComesBack(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(workload("apps/v1", "Deployment", "web", "replicas: 1"))
		w.pass(10 * time.Second)
		name := field(&w.list("pods")[0], "spec.nodeName")
		n, err := w.Node(name)
		if err != nil {
			w.Fatal(err)
		}
		check := func(when, node, pod string, taints ...corev1.TaintEffect) {
			w.Helper()
			if got := condition(w.object("nodes", name), "Ready"); got != node {
				w.Errorf("%s the Node is %q, want %q", when, got, node)
			}
			var web corev1.Pod
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(w.list("pods")[0].Object, &web); err != nil {
				w.Fatal(err)
			}
			i := slices.IndexFunc(web.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
			if got := string(web.Status.Conditions[i].Status); got != pod || web.Status.ContainerStatuses[0].RestartCount > 0 {
				w.Errorf("%s the Pod is ready: %s, want %s", when, got, pod)
			}
			object, err := w.client.CoreV1().Nodes().Get(w.Context(), name, metav1.GetOptions{})
			if err != nil {
				w.Fatal(err)
			}
			var got []corev1.TaintEffect
			for _, taint := range object.Spec.Taints {
				got = append(got, taint.Effect)
			}
			slices.Sort(got)
			if !slices.Equal(got, taints) {
				w.Errorf("%s the Node has the taints %v, want %v", when, got, taints)
			}
		}
		check("at rest", "True KubeletReady", "True")
		if err := n.StopHeartbeats(w.Context()); err != nil {
			w.Fatal(err)
		}
		w.pass(50*time.Second - time.Millisecond)
		check("before the grace period ends", "True KubeletReady", "True")
		// The grace period begins when the controller sees the last renewal. It looks every five seconds, and for nodes to taint after 100 ms.
		w.pass(10*time.Second + 200*time.Millisecond)
		check("after it", "Unknown NodeStatusUnknown", "False", corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule)
		if err := n.ResumeHeartbeats(w.Context()); err != nil {
			w.Fatal(err)
		}
		w.pass(6 * time.Second)
		check("after the heartbeats have resumed", "True KubeletReady", "True")
		if got := field(w.object("deployments.apps", "web"), "status.availableReplicas"); got != "1" {
			w.Errorf("%s replicas are available", got)
		}
	}, workloads.Nodes(2))
}

func TestWrongNodesAreErrors(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	for _, test := range []struct {
		name string
		opts []workloads.Option
		want string
	}{
		{"no Nodes at all", []workloads.Option{workloads.Nodes(0)}, "Nodes(0): there has to be at least one; leave the option out for none"},
		{"a name that is not possible", []workloads.Option{workloads.NodeObjects(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "N 1"}})},
			`node name "N 1": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a name twice", []workloads.Option{workloads.Nodes(1), workloads.NodeObjects(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})}, "node n1 is given twice"},
		{"an impossible behavior", []workloads.Option{workloads.Nodes(1), workloads.Behaviors(workloads.Behavior{Image: "a", Jitter: 2})},
			"the behavior of image a: the field Jitter is 2; it must be between 0 and 1"},
		{"behaviors without Nodes", []workloads.Option{workloads.Behaviors(workloads.Behavior{})}, "Behaviors: there are no Nodes; add Nodes(3)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := workloads.New(c, test.opts...); err == nil || err.Error() != test.want {
				t.Errorf("the error is %v, want %s", err, test.want)
			}
		})
	}
}

func TestABehaviorThatSelectsNothingIsAnError(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	w, err := workloads.New(c, workloads.Nodes(1), workloads.Behaviors(workloads.Behavior{Image: "nobody-has-this"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "the behavior of image nobody-has-this has applied to no container") {
		t.Errorf("the error is %v", err)
	}
	if _, err := w.Node("n9"); err == nil || !strings.Contains(err.Error(), `node "n9" does not exist; the nodes are [n1]`) {
		t.Errorf("the error for another node is %v", err)
	}
}

// TestTheDocumentationListsEveryController compares the tables of docs/controllers.md with the code. Of namespace-controller there are two.
func TestTheDocumentationListsEveryController(t *testing.T) {
	text, err := os.ReadFile("../docs/controllers.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, title := range []string{"Within the write", "Later"} {
		_, section, _ := strings.Cut(string(text), "\n## "+title+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for line := range strings.Lines(section) {
			if !strings.HasPrefix(line, "| `") {
				continue
			}
			for i, name := range strings.Split(strings.Split(line, "|")[1], "`") {
				if i%2 == 1 && (name != "namespace-controller" || title == "Later") {
					listed = append(listed, name)
				}
			}
		}
	}
	slices.Sort(listed)
	if diff := cmp.Diff(workloads.ControllerNames(), listed); diff != "" {
		t.Errorf("controllers (-code +docs/controllers.md):\n%s", diff)
	}
}

// TestANodeCorrectsItsStatus proves that a node writes its status again with its next heartbeat when somebody else has changed it, and keeps
// resources that were added to its capacity. It writes nothing while nobody does.
func TestANodeCorrectsItsStatus(t *testing.T) {
	inBubble(t, func(w world) {
		patch := func(patch string) {
			w.Helper()
			if _, err := w.client.CoreV1().Nodes().Patch(w.Context(), "n1", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
				w.Fatal(err)
			}
		}
		patch(`{"status": {"capacity": {"cpu": "1", "example.com/dongle": "4"}, "addresses": [{"type": "InternalIP", "address": "10.1.2.3"}], "conditions": [
			{"type": "Ready", "status": "False", "reason": "Test"}, {"type": "KernelDeadlock", "status": "True", "reason": "Test"}]}}`)
		w.check("the condition after the patch", condition(w.object("nodes", "n1"), "Ready"), "False Test")
		w.pass(11 * time.Second)
		n := w.object("nodes", "n1")
		w.check("Ready", condition(n, "Ready"), "True KubeletReady")
		w.check("the condition of another program", condition(n, "KernelDeadlock"), "True Test")
		w.check("capacity", field(n, "status.capacity.cpu")+" "+field(n, "status.addresses"), "8 "+field(w.object("nodes", "n1"), "status.addresses"))
		w.check("the added resource", field(n, "status.capacity")+field(n, "status.allocatable"), strings.Repeat("cpu: \"8\"\nephemeral-storage: 100Gi\nexample.com/dongle: \"4\"\nmemory: 32Gi\npods: \"110\"", 2))
		if strings.Contains(field(n, "status.addresses"), "10.1.2.3") {
			w.Error("the address is still that of the patch")
		}
		revision := n.GetResourceVersion()
		w.pass(30 * time.Minute)
		w.check("the revision after half an hour", w.object("nodes", "n1").GetResourceVersion(), revision)
	}, workloads.Nodes(1))
}

// TestAnAnnotationStopsANode proves that kubectl can stop the kubelet of a node, and start it again.
func TestAnAnnotationStopsANode(t *testing.T) {
	inBubble(t, func(w world) {
		annotate := func(value string) {
			w.Helper()
			patch := `{"metadata": {"annotations": {"fakecluster.io/heartbeats": ` + value + `}}}`
			if _, err := w.client.CoreV1().Nodes().Patch(w.Context(), "n1", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				w.Fatal(err)
			}
		}
		annotate(`"stopped"`)
		w.pass(70 * time.Second)
		w.check("Ready of the stopped node", condition(w.object("nodes", "n1"), "Ready"), "Unknown NodeStatusUnknown")
		w.check("Ready of the other node", condition(w.object("nodes", "n2"), "Ready"), "True KubeletReady")
		annotate("null")
		w.pass(time.Second)
		w.check("Ready of the node that is back", condition(w.object("nodes", "n1"), "Ready"), "True KubeletReady")
	}, workloads.Nodes(2))
}

// TestANodeIsAdopted proves that a Node which a client has created gets a kubelet if an annotation says so, as kwok's manifests do: it becomes
// ready, has the labels of a kubelet, runs Pods, and answers for them; another one stays without.
func TestANodeIsAdopted(t *testing.T) {
	const object = `
apiVersion: v1
kind: Node
metadata: {name: NAME, labels: {type: kwok}, annotations: {ANNOTATION}}
spec: {taints: [{key: kwok.x-k8s.io/node, value: fake, effect: NoSchedule}]}
status: {allocatable: {cpu: "32", pods: "110"}, capacity: {cpu: "32", pods: "110"}, nodeInfo: {kubeletVersion: fake}}
`
	node := func(name, annotation string) string {
		return strings.NewReplacer("NAME", name, "ANNOTATION", annotation).Replace(object)
	}
	for name, annotation := range map[string]string{"kwok": "kwok.x-k8s.io/node: fake", "own": "fakecluster.io/heartbeats: running"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w world) {
				for _, file := range []string{node("n9", annotation), node("n8", "other: x")} {
					createNode(w, file)
				}
				w.pass(5 * time.Second)
				n9 := w.object("nodes", "n9")
				w.check("Ready", condition(n9, "Ready"), "True KubeletReady")
				w.check("Ready of another Node", condition(w.object("nodes", "n8"), "Ready"), "")
				w.check("what it has", field(n9, "status.capacity.cpu")+" "+field(n9, "status.capacity.memory")+" "+field(n9, "status.nodeInfo.kubeletVersion")+" "+n9.GetLabels()["kubernetes.io/hostname"], "32 32Gi fake n9")
				w.create(pod("web", "nodeSelector: {kubernetes.io/hostname: n9}\ntolerations: [{operator: Exists}]\ncontainers: [{name: c, image: web, command: [sh, -c, \"echo hello; sleep inf\"]}]"))
				w.pass(5 * time.Second)
				web := w.object("pods", "web")
				w.check("the Pod", field(web, "spec.nodeName")+" "+field(web, "status.phase"), "n9 Running")
				w.check("its log", w.log("web", corev1.PodLogOptions{}), "hello\n")
				if err := w.client.CoreV1().Nodes().Delete(w.Context(), "n9", metav1.DeleteOptions{}); err != nil {
					w.Fatal(err)
				}
				w.pass(time.Minute)
				createNode(w, node("n9", annotation))
				w.pass(time.Minute)
				w.check("Ready of the Node that was created again", condition(w.object("nodes", "n9"), "Ready"), "True KubeletReady")
			}, workloads.Nodes(1))
		})
	}
}

// createNode creates a Node with its status.
func createNode(w world, file string) {
	w.Helper()
	var object corev1.Node
	if err := yaml.Unmarshal([]byte(file), &object); err != nil {
		w.Fatal(err)
	}
	if _, err := w.client.CoreV1().Nodes().Create(w.Context(), &object, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}
