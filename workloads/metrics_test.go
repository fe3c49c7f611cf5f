package workloads_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/workloads"
)

// using is a behavior of containers that use CPU and memory.
func using(labels map[string]string, cpu, memory string) workloads.Behavior {
	return workloads.Behavior{Labels: labels, Usage: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}}
}

func TestMetrics(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(workload("apps/v1", "Deployment", "web", "replicas: 2") + "---\n" + pod("idle", ""))
		w.pass(10 * time.Second)
		config := w.cluster.RESTConfig()
		client := metricsclient.NewForConfigOrDie(config)

		pods, err := client.PodMetricses("").List(w.Context(), metav1.ListOptions{})
		if err != nil {
			w.Fatal(err)
		}
		var got []string
		for _, p := range pods.Items {
			name, _, _ := strings.Cut(p.Name, "-")
			c := p.Containers[0]
			got = append(got, name+" "+c.Name+" "+c.Usage.Cpu().String()+" "+c.Usage.Memory().String()+" "+p.Window.Duration.String()+" "+p.Labels["app"])
			if !p.Timestamp.Time.Equal(time.Now().Truncate(time.Second)) {
				w.Errorf("the metrics of %s are of %v instead of %v", p.Name, p.Timestamp, time.Now())
			}
		}
		want := []string{"idle c 0 0 15s idle", "web c 250m 64Mi 15s web", "web c 250m 64Mi 15s web"}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Errorf("Pods (-want +got):\n%s", diff)
		}

		for _, c := range []struct {
			name string
			o    metav1.ListOptions
			want int
		}{
			{"a label selector", metav1.ListOptions{LabelSelector: "app=web"}, 2},
			{"a field selector", metav1.ListOptions{FieldSelector: "metadata.name=idle"}, 1},
		} {
			list, err := client.PodMetricses("default").List(w.Context(), c.o)
			if err != nil || len(list.Items) != c.want {
				w.Errorf("%s selects %v; %v", c.name, list, err)
			}
		}
		if list, err := client.PodMetricses("kube-system").List(w.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
			w.Errorf("the Pods of another namespace are %v; %v", list, err)
		}

		nodes, err := client.NodeMetricses().List(w.Context(), metav1.ListOptions{})
		if err != nil || len(nodes.Items) != 2 || nodes.Items[0].Name != "n1" {
			w.Fatalf("the Nodes are %v; %v", nodes, err)
		}
		total := nodes.Items[0].Usage.Cpu().MilliValue() + nodes.Items[1].Usage.Cpu().MilliValue()
		if total != 500 {
			w.Errorf("the Nodes use %dm", total)
		}

		w.post(pod("starting", ""))
		w.pass(0)
		for name, want := range map[string]string{
			"none":     `pods "none" not found`,
			"starting": `podmetrics.metrics.k8s.io "default/starting" not found`,
		} {
			if _, err := client.PodMetricses("default").Get(w.Context(), name, metav1.GetOptions{}); err == nil || err.Error() != want {
				w.Errorf("the error for %s is %v", name, err)
			}
		}
		if _, err := client.NodeMetricses().Get(w.Context(), "none", metav1.GetOptions{}); err == nil || err.Error() != `node "none" not found` {
			w.Errorf("the error for a Node that does not exist is %v", err)
		}
	}, workloads.Nodes(2), workloads.Behaviors(using(map[string]string{"app": "web"}, "250m", "64Mi")))
}

// TestMetricsAreAnAPI proves what clients such as kubectl top need: discovery, Tables, and roles.
func TestMetricsAreAnAPI(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(pod("web", ""))
		w.pass(10 * time.Second)
		list, err := w.client.Discovery().ServerResourcesForGroupVersion("metrics.k8s.io/v1beta1")
		if err != nil {
			w.Fatal(err)
		}
		var kinds []string
		for _, r := range list.APIResources {
			kinds = append(kinds, r.Name+" "+r.Kind+" "+strings.Join(r.Verbs, ","))
		}
		if diff := cmp.Diff([]string{"nodes NodeMetrics get,list", "pods PodMetrics get,list"}, kinds); diff != "" {
			w.Errorf("Discovery (-want +got):\n%s", diff)
		}

		get := func(path, watch, accept string) (string, error) {
			client := kubernetes.NewForConfigOrDie(w.cluster.ConfigFor("viewer"))
			body, err := client.RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1"+path).Param("watch", watch).SetHeader("Accept", accept).DoRaw(w.Context())
			var compact bytes.Buffer
			if json.Compact(&compact, body) == nil {
				body = compact.Bytes()
			}
			return string(body), err
		}
		w.create(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: viewer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: viewer}]`)
		table, err := get("/namespaces/default/pods", "false", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
		const row = `"rows":[{"cells":["web","100m","1Gi","15s"],"object":{"kind":"PartialObjectMetadata"`
		if err != nil || !strings.Contains(table, row) {
			w.Errorf("the Table is %s; %v", table, err)
		}
		if body, err := get("/nodes", "true", "application/json"); err == nil || !strings.Contains(err.Error(), "the server does not allow this method on the requested resource") {
			w.Errorf("a watch gets %s, %v", body, err)
		}
	}, workloads.Nodes(1), workloads.Behaviors(using(map[string]string{"app": "web"}, "100m", "1Gi")))
}

// TestMetricsAreDescribed proves that the OpenAPI documents of the cluster have those of metrics-server among them, so that kubectl explain
// works, and only as long as metrics are served.
func TestMetricsAreDescribed(t *testing.T) {
	inBubble(t, func(w world) {
		get := func(path string) (body []byte) {
			w.Helper()
			body, err := kubernetes.NewForConfigOrDie(w.cluster.RESTConfig()).RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(w.Context())
			if err != nil {
				w.Fatal(err)
			}
			return body
		}
		names := func(body []byte, path ...string) []string {
			w.Helper()
			var document map[string]any
			if err := json.Unmarshal(body, &document); err != nil {
				w.Fatal(err)
			}
			fields, _, err := unstructured.NestedMap(document, path...)
			if err != nil {
				w.Fatal(err)
			}
			var names []string
			for name := range fields {
				if strings.Contains(name, "metrics.k8s.io") || strings.Contains(name, "pkg.apis.metrics") {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			return names
		}
		paths := []string{
			"/apis/metrics.k8s.io/v1beta1/", "/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods", "/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods/{name}",
			"/apis/metrics.k8s.io/v1beta1/nodes", "/apis/metrics.k8s.io/v1beta1/nodes/{name}", "/apis/metrics.k8s.io/v1beta1/pods",
		}
		var types []string
		for _, kind := range []string{"ContainerMetrics", "NodeMetrics", "NodeMetricsList", "PodMetrics", "PodMetricsList"} {
			types = append(types, "io.k8s.metrics.pkg.apis.metrics.v1beta1."+kind)
		}
		const version = "/openapi/v3/apis/metrics.k8s.io/v1beta1"
		v2, v3 := get("/openapi/v2"), get(version)
		for what, diff := range map[string]string{
			"the index of v3": cmp.Diff([]string{"apis/metrics.k8s.io", "apis/metrics.k8s.io/v1beta1"}, names(get("/openapi/v3"), "paths")),
			"paths of v3":     cmp.Diff(paths, names(v3, "paths")),
			"types of v3":     cmp.Diff(types, names(v3, "components", "schemas")),
			"paths of v2":     cmp.Diff(paths, names(v2, "paths")),
			"types of v2":     cmp.Diff(types, names(v2, "definitions")),
		} {
			if diff != "" {
				w.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		for _, want := range []string{`"title":"Kubernetes metrics-server"`, `"operationId":"listMetricsV1beta1NamespacedPodMetrics"`, `"x-kubernetes-group-version-kind":[{"group":"metrics.k8s.io","kind":"PodMetrics","version":"v1beta1"}]`} {
			if !bytes.Contains(v3, []byte(want)) {
				w.Errorf("v3 does not have %s", want)
			}
		}
		if !bytes.Contains(v2, []byte(`"io.k8s.api.apps.v1.Deployment":`)) {
			w.Error("v2 does not have Deployments")
		}
		if err := w.Close(); err != nil {
			w.Error(err)
		}
		if left := append(names(get("/openapi/v3"), "paths"), names(get("/openapi/v2"), "paths")...); len(left) > 0 {
			w.Errorf("after Close the documents still have %v", left)
		}
	}, workloads.Nodes(1))
}

// TestMetricsEnd proves that metrics end with the node's heartbeats, that discovery works in a fork in which nothing lives, and that
// Close leaves a cluster without the API.
func TestMetricsEnd(t *testing.T) {
	inBubble(t, func(w world) {
		nodes := func(c *fakecluster.Cluster) (int, error) {
			list, err := metricsclient.NewForConfigOrDie(c.RESTConfig()).NodeMetricses().List(w.Context(), metav1.ListOptions{})
			if err != nil {
				return 0, err
			}
			return len(list.Items), nil
		}
		n, err := w.Node("n1")
		if err != nil {
			w.Fatal(err)
		}
		if err := n.StopHeartbeats(w.Context()); err != nil {
			w.Fatal(err)
		}
		if n, err := nodes(w.cluster); n != 1 || err != nil {
			w.Errorf("%d Nodes report, %v", n, err)
		}
		fork := w.cluster.Fork(w.T)
		if _, err := fork.RESTMapper().ResourceFor(schema.GroupVersionResource{Resource: "deployments"}); err != nil {
			w.Errorf("discovery in a fork: %v", err)
		}
		if _, err := nodes(fork); err == nil || err.Error() != "the server could not find the requested resource (get nodes.metrics.k8s.io)" {
			w.Errorf("metrics in a fork in which nothing lives: %v", err)
		}
		workloads.Run(w.T, fork, workloads.Nodes(2))
		if n, err := nodes(fork); n != 2 || err != nil {
			w.Errorf("%d Nodes report in the fork, %v", n, err)
		}
		if err := w.Close(); err != nil {
			w.Error(err)
		}
		if _, err := nodes(w.cluster); err == nil || err.Error() != "the server could not find the requested resource (get nodes.metrics.k8s.io)" {
			w.Errorf("metrics after Close: %v", err)
		}
	}, workloads.Nodes(2))
}

// TestMetricsOfAnotherServer proves that a server of metrics that the test brings along is left alone, and that the API is not for everybody.
func TestMetricsOfAnotherServer(t *testing.T) {
	own := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }
	for name, c := range map[string]*fakecluster.Cluster{
		"as the service of metrics-server": fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithService("kube-system", "metrics-server", 443, http.HandlerFunc(own)),
			fakecluster.WithObjects(apiService("kube-system", "metrics-server"))),
		"as another service": fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithService("monitoring", "adapter", 443, http.HandlerFunc(own)),
			fakecluster.WithObjects(apiService("monitoring", "adapter"))),
	} {
		w := workloads.Run(t, c, workloads.Nodes(1))
		_, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/nodes").DoRaw(t.Context())
		// The handler is not a healthy API server, so that the API is unavailable.
		if !apierrors.IsServiceUnavailable(err) {
			t.Errorf("%s: %v", name, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if _, err := c.Dynamic().Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}).Get(t.Context(), "v1beta1.metrics.k8s.io", metav1.GetOptions{}); err != nil {
			t.Errorf("%s: the APIService: %v", name, err)
		}
	}
	c := fakecluster.Start(t)
	workloads.Run(t, c, workloads.Nodes(1))
	_, err := metricsclient.NewForConfigOrDie(c.ConfigFor("nobody")).NodeMetricses().List(t.Context(), metav1.ListOptions{})
	if err == nil || !strings.Contains(err.Error(), `nodes.metrics.k8s.io is forbidden: User "nobody" cannot list resource "nodes" in API group "metrics.k8s.io"`) {
		t.Errorf("nobody gets %v", err)
	}
	if list, err := metricsclient.NewForConfigOrDie(c.RESTConfig()).NodeMetricses().List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("with a socket: %v, %v", list, err)
	}
}

// TestMetricsGiveWay proves that metrics-server can be installed as its manifests do, that its Pods answer if they run a program, and that
// otherwise, and after they have gone, the cluster does.
func TestMetricsGiveWay(t *testing.T) {
	const role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "system:aggregated-metrics-reader"}
rules: [{apiGroups: [metrics.k8s.io], resources: [pods, nodes], verbs: [get, list, watch]}]
`
	inBubble(t, func(w world) {
		nodes := func() string {
			list, err := metricsclient.NewForConfigOrDie(w.cluster.RESTConfig()).NodeMetricses().List(w.Context(), metav1.ListOptions{})
			if err != nil {
				return err.Error()
			}
			return strconv.Itoa(len(list.Items))
		}
		available := func() string {
			return condition(w.object("apiservices.apiregistration.k8s.io", "v1beta1.metrics.k8s.io"), "Available")
		}
		w.check("the number of Nodes at first", nodes(), "1")
		services := w.cluster.Dynamic().Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
		if _, err := services.Create(w.Context(), apiService("default", "web"), metav1.CreateOptions{}); err != nil {
			w.Fatal(err)
		}
		w.check("the APIService without a Service", available(), "False ServiceNotFound")
		w.check("its metrics", nodes(), "the server is currently unable to handle the request (get nodes.metrics.k8s.io)")
		w.create(role + "---" + web)
		w.pass(time.Minute)
		w.check("the APIService whose Pods run no program", available(), "True Passed")
		w.check("its metrics", nodes(), "1")

		a, err := authentication.NewAuthority("test")
		if err != nil {
			w.Fatal(err)
		}
		stop := w.serve(a, func(string) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"kind":"NodeMetricsList","apiVersion":"metrics.k8s.io/v1beta1","items":[{},{},{}]}`)
			})
		})
		w.check("the metrics of Pods that answer", nodes(), "3")
		stop()
		w.check("the metrics of Pods that no longer answer", nodes(), "1")
		if err := services.Delete(w.Context(), "v1beta1.metrics.k8s.io", metav1.DeleteOptions{}); err != nil {
			w.Fatal(err)
		}
		w.check("the metrics after the uninstall", nodes(), "1")
	}, workloads.Nodes(1))
}

// apiService is the APIService of metrics at a service.
func apiService(namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1beta1.metrics.k8s.io"},
		"spec": map[string]any{
			"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100), "insecureSkipTLSVerify": true,
			"service": map[string]any{"namespace": namespace, "name": name, "port": int64(443)},
		},
	}}
}
