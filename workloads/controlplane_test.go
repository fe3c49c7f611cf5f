package workloads_test

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/workloads"
)

// TestControlPlane compares what ControlPlane adds with a cluster of kubeadm.
func TestControlPlane(t *testing.T) {
	inBubble(t, func(w world) {
		w.pass(time.Minute)
		node := w.object("nodes", "control-plane")
		for path, want := range map[string]string{
			"spec.taints": "- effect: NoSchedule\n  key: node-role.kubernetes.io/control-plane",
		} {
			if got := field(node, path); got != want {
				w.Errorf("%s of the Node: %s, want %s", path, got, want)
			}
		}
		for _, label := range []string{"node-role.kubernetes.io/control-plane", "node.kubernetes.io/exclude-from-external-load-balancers"} {
			if value, ok := node.GetLabels()[label]; !ok || value != "" {
				w.Errorf("the label %s of the Node: %q, %t", label, value, ok)
			}
		}
		var pods []string
		for _, p := range w.list("pods") {
			name := p.GetName()
			if owner := metav1.GetControllerOf(&p); owner.Kind != "Node" { // its end is generated
				name = name[:strings.LastIndex(name, "-")]
			}
			pods = append(pods, fmt.Sprint(p.GetNamespace(), "/", name, " ", condition(&p, "Ready"), " ", field(&p, "spec.priority")))
		}
		slices.Sort(pods)
		pods = slices.Compact(pods)
		for i, p := range pods {
			if strings.HasPrefix(p, "kube-system/coredns-") {
				pods[i] = "kube-system/coredns" + p[strings.Index(p, " "):]
			}
		}
		want := []string{
			"kube-system/coredns True 2000000000", "kube-system/etcd-control-plane True 2000001000", "kube-system/kube-apiserver-control-plane True 2000001000",
			"kube-system/kube-controller-manager-control-plane True 2000001000", "kube-system/kube-proxy True 2000001000", "kube-system/kube-scheduler-control-plane True 2000001000",
		}
		if !reflect.DeepEqual(pods, want) {
			w.Errorf("the Pods are\n%s, want\n%s", strings.Join(pods, "\n"), strings.Join(want, "\n"))
		}
		if got := field(w.object("daemonsets.apps", "kube-proxy"), "status.numberReady"); got != "3" {
			w.Errorf("kube-proxy is ready on %s Nodes", got)
		}
		if got := field(w.object("services", "kube-dns"), "spec.clusterIP"); got != "10.0.0.10" {
			w.Errorf("the Service kube-dns has the address %s", got)
		}

		server := w.object("pods", "kube-apiserver-control-plane")
		annotations := server.GetAnnotations()
		hash := annotations["kubernetes.io/config.hash"]
		delete(annotations, "kubernetes.io/config.seen")
		wanted := map[string]string{
			"kubernetes.io/config.hash": hash, "kubernetes.io/config.mirror": hash, "kubernetes.io/config.source": "file",
			"kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint": "172.18.0.4:6443",
		}
		if len(hash) != 32 || !reflect.DeepEqual(annotations, wanted) {
			w.Errorf("the annotations of the API server's Pod are %v, want %v", annotations, wanted)
		}
		if got := field(server, "metadata.ownerReferences"); got != "- apiVersion: v1\n  controller: true\n  kind: Node\n  name: control-plane\n  uid: "+string(node.GetUID()) {
			w.Errorf("its owner is %s", got)
		}
		if got := field(server, "spec.tolerations"); got != "- effect: NoExecute\n  operator: Exists" {
			w.Errorf("it tolerates %s", got)
		}
	}, workloads.Nodes(2), workloads.ControlPlane())
}

// TestMirrorPodsComeBack proves that the containers of a static Pod run on when its mirror Pod is deleted, and that another one shows them.
func TestMirrorPodsComeBack(t *testing.T) {
	inBubble(t, func(w world) {
		w.pass(time.Minute)
		pods := w.client.CoreV1().Pods("kube-system")
		get := func() *corev1.Pod {
			w.Helper()
			pod, err := pods.Get(w.Context(), "etcd-control-plane", metav1.GetOptions{})
			if err != nil {
				w.Fatal(err)
			}
			return pod
		}
		before := get()
		for _, grace := range []*int64{nil, new(int64)} {
			if err := pods.Delete(w.Context(), before.Name, metav1.DeleteOptions{GracePeriodSeconds: grace}); err != nil {
				w.Fatal(err)
			}
			w.pass(time.Second)
			after := get()
			if after.UID == before.UID || after.Annotations["kubernetes.io/config.mirror"] != before.Annotations["kubernetes.io/config.mirror"] {
				w.Errorf("the Pod has the uid %s after %s, and the annotations %v", after.UID, before.UID, after.Annotations)
			}
			if !reflect.DeepEqual(after.Status.ContainerStatuses, before.Status.ContainerStatuses) || !after.Status.StartTime.Equal(before.Status.StartTime) {
				w.Errorf("its containers have not run on: %v, want %v", after.Status, before.Status)
			}
			before = after
		}
		if err := w.client.CoreV1().Nodes().Delete(w.Context(), "control-plane", metav1.DeleteOptions{}); err != nil {
			w.Fatal(err)
		}
		w.pass(2 * time.Minute)
		if w.find("pods", "etcd-control-plane") != nil {
			w.Error("there is a mirror Pod without its Node")
		}
	}, workloads.Nodes(1), workloads.ControlPlane())
}

// TestStaticPodsGoOnBehindAnotherMirrorPod proves that a node still notices what happens in the containers of a static Pod
// when their first mirror Pod is deleted: one that ends starts again after the back-off that it had, and programs look into its files.
func TestStaticPodsGoOnBehindAnotherMirrorPod(t *testing.T) {
	const life = 90 * time.Second // of each start of etcd
	inBubble(t, func(w world) {
		w.pass(time.Minute)
		pods := w.client.CoreV1().Pods("kube-system")
		etcd := func() corev1.ContainerStatus {
			w.Helper()
			pod, err := pods.Get(w.Context(), "etcd-control-plane", metav1.GetOptions{})
			if err != nil {
				w.Fatal(err)
			}
			return pod.Status.ContainerStatuses[0]
		}
		remove := func(name string) {
			w.Helper()
			if err := pods.Delete(w.Context(), name, metav1.DeleteOptions{}); err != nil {
				w.Fatal(err)
			}
			w.pass(time.Second)
		}
		for restarts, backOff := range []time.Duration{0, 10 * time.Second} {
			remove("etcd-control-plane")
			ends := etcd().State.Running.StartedAt.Add(life)
			if backOff > 0 {
				w.pass(time.Until(ends.Add(backOff - time.Second)))
				if s := etcd(); s.State.Waiting == nil || s.State.Waiting.Reason != "CrashLoopBackOff" {
					w.Errorf("in its back-off etcd is %v", s)
				}
			}
			w.pass(time.Until(ends.Add(backOff + 2*time.Second)))
			if s := etcd(); s.State.Running == nil || int(s.RestartCount) != restarts+1 {
				w.Fatalf("after its back-off of %s etcd is %v, want start %d", backOff, s, restarts+1)
			}
		}

		remove("kube-scheduler-control-plane")
		request := w.client.CoreV1().RESTClient().Post().Resource("pods").Namespace("kube-system").Name("kube-scheduler-control-plane").SubResource("exec").
			VersionedParams(&corev1.PodExecOptions{Command: []string{"cat", "/etc/hostname"}, Stdout: true}, scheme.ParameterCodec)
		executor, err := w.NewSPDYExecutor(w.cluster.RESTConfig(), "POST", request.URL())
		if err != nil {
			w.Fatal(err)
		}
		var out strings.Builder
		if err := executor.StreamWithContext(w.Context(), remotecommand.StreamOptions{Stdout: &out}); err != nil || out.String() != "control-plane\n" {
			w.Errorf("the name of its host is %q, %v", &out, err)
		}
	}, workloads.Nodes(1), workloads.ControlPlane(), workloads.Image("registry.k8s.io/etcd", func(ctx context.Context, _ *workloads.Container) error {
		select {
		case <-time.After(life):
			return workloads.Exit(1)
		case <-ctx.Done():
			return nil
		}
	}))
}

// TestControlPlaneGoesOn proves that what lives in the cluster next takes over the control plane, and does not install it again.
func TestControlPlaneGoesOn(t *testing.T) {
	inBubble(t, func(w world) {
		w.pass(time.Minute)
		if err := w.client.AppsV1().DaemonSets("kube-system").Delete(w.Context(), "kube-proxy", metav1.DeleteOptions{}); err != nil {
			w.Fatal(err)
		}
		w.pass(time.Minute)
		before := w.object("pods", "etcd-control-plane")
		if err := w.Close(); err != nil {
			w.Fatal(err)
		}
		workloads.Run(w.T, w.cluster, workloads.Nodes(1), workloads.ControlPlane())
		w.pass(time.Minute)
		after := w.object("pods", "etcd-control-plane")
		for _, path := range []string{"metadata.uid", "metadata.annotations", "status"} {
			if got, want := field(after, path), field(before, path); got != want {
				w.Errorf("%s is %s, want %s", path, got, want)
			}
		}
		if w.find("daemonsets.apps", "kube-proxy") != nil {
			w.Error("kube-proxy is back")
		}
	}, workloads.Nodes(1), workloads.ControlPlane())
}

// TestMirrorPodsAwaitTheServer proves that a mirror Pod that cannot be created is created later.
func TestMirrorPodsAwaitTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		c.Inject(faults.Fault{Verb: "create", Resource: "pods", User: "system:node:control-plane", Times: 2, Effect: faults.Unavailable()})
		w := world{t, workloads.Run(t, c, workloads.Nodes(1), workloads.ControlPlane()), c, kubernetes.NewForConfigOrDie(c.RESTConfig())}
		w.pass(15 * time.Second)
		if w.find("pods", "etcd-control-plane") != nil {
			t.Error("there is a mirror Pod although it cannot be created")
		}
		w.pass(10 * time.Second)
		for _, component := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
			w.object("pods", component+"-control-plane")
		}
	})
}

// TestDNSOfAControlPlane proves that the DNS answers at the address of the Service kube-dns.
func TestDNSOfAControlPlane(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(`{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 10.0.0.77, ports: [{port: 80}]}}`)
		for range 2 { // before CoreDNS is ready, and after that
			for _, network := range []string{"udp", "tcp"} {
				resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
					return w.Dial(ctx, network, "10.0.0.10:53")
				}}
				for name, want := range map[string]string{"web.default.svc.cluster.local.": "10.0.0.77", "kube-dns.kube-system.svc.cluster.local.": "10.0.0.10"} {
					if got, err := resolver.LookupHost(w.Context(), name); err != nil || !reflect.DeepEqual(got, []string{want}) {
						w.Errorf("%s by %s: %v, %v, want %s", name, network, got, err, want)
					}
				}
			}
			w.pass(time.Minute)
		}
	}, workloads.Nodes(1), workloads.ControlPlane())
}

// TestNodesOfTheControlPlane proves that Nodes with the label take the place of the one that is added.
func TestNodesOfTheControlPlane(t *testing.T) {
	inBubble(t, func(w world) {
		w.pass(time.Minute)
		var names []string
		for _, n := range w.list("nodes") {
			names = append(names, n.GetName())
		}
		if !reflect.DeepEqual(names, []string{"main", "worker"}) {
			w.Errorf("the Nodes are %v", names)
		}
		for _, component := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
			if got := field(w.object("pods", component+"-main"), "status.phase"); got != "Running" {
				w.Errorf("%s-main is %s", component, got)
			}
		}
	}, workloads.ControlPlane(), workloads.NodeObjects(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "main", Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}},
	))
}
