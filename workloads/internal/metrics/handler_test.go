package metrics

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// newHandler returns a handler for three Nodes, of which n2 does not report, and for Pods: each container uses 100m and 1Mi, and that of busy
// three times as much.
func newHandler(t *testing.T) *Handler {
	t.Helper()
	pods, nodes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}), cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	for _, name := range []string{"n3", "n2", "n1"} {
		if err := nodes.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []struct {
		namespace, name, node string
		phase                 corev1.PodPhase
	}{
		{"shop", "web", "n1", corev1.PodRunning}, {"shop", "busy", "n1", corev1.PodRunning}, {"other", "web", "n1", corev1.PodRunning},
		{"shop", "done", "n1", corev1.PodSucceeded}, {"shop", "silent", "n2", corev1.PodRunning}, {"shop", "starting", "n1", corev1.PodRunning},
		{"far", "web", "n3", corev1.PodRunning},
	} {
		if err := pods.Add(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.name, Labels: map[string]string{"app": p.name}},
			Spec:       corev1.PodSpec{NodeName: p.node, InitContainers: []corev1.Container{{Name: "sidecar"}}, Containers: []corev1.Container{{Name: "app"}, {Name: "exited"}}},
			Status:     corev1.PodStatus{Phase: p.phase},
		}); err != nil {
			t.Fatal(err)
		}
	}
	used := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	return &Handler{
		Pods: corelisters.NewPodLister(pods), Nodes: corelisters.NewNodeLister(nodes),
		Usage: func(p *corev1.Pod) (map[string]corev1.ResourceList, bool) {
			switch p.Name {
			case "starting": // no container runs yet
				return map[string]corev1.ResourceList{}, true
			case "busy":
				return map[string]corev1.ResourceList{"app": used("300m", "3Mi"), "sidecar": {}}, true
			}
			return map[string]corev1.ResourceList{"app": used("100m", "1Mi")}, p.Spec.NodeName != "n2"
		},
		Reports: func(node string) bool { return node != "n2" },
	}
}

// ask returns the code and the JSON of an answer.
func ask(t *testing.T, h *Handler, method, path, accept string) (int, map[string]any) {
	t.Helper()
	req := httptest.NewRequest(method, path, nil)
	req.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil && w.Code != http.StatusNotFound {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Code, body
}

// line returns what metrics say, or the message of an error.
func line(body map[string]any) string {
	if message, failed := body["message"].(string); failed {
		return message
	}
	var lines []string
	usage := func(metrics any) string {
		u := metrics.(map[string]any)["usage"].(map[string]any)
		return u["cpu"].(string) + "/" + u["memory"].(string)
	}
	one := func(m map[string]any) {
		meta := m["metadata"].(map[string]any)
		text, containers := meta["name"].(string), m["containers"]
		if containers == nil {
			lines = append(lines, text+" "+usage(m))
			return
		}
		text = meta["namespace"].(string) + "/" + text
		for _, c := range containers.([]any) {
			text += " " + c.(map[string]any)["name"].(string) + " " + usage(c)
		}
		lines = append(lines, text)
	}
	items, list := body["items"].([]any)
	if !list {
		one(body)
	}
	for _, item := range items {
		one(item.(map[string]any))
	}
	return strings.Join(lines, "; ")
}

func TestMetrics(t *testing.T) {
	h := newHandler(t)
	for _, test := range []struct {
		rule, method, path string
		code               int
		want               string
	}{
		{"a Node is the sum of its Pods", http.MethodGet, "nodes/n1", 200, "n1 500m/5Mi"},
		{"a Node that does not report has none", http.MethodGet, "nodes/n2", 404, `nodemetrics.metrics.k8s.io "n2" not found`},
		{"a Node that does not exist", http.MethodGet, "nodes/n4", 404, `node "n4" not found`},
		{"a list leaves out Nodes that do not report", http.MethodGet, "nodes", 200, "n1 500m/5Mi; n3 100m/1Mi"},
		{"Nodes are selected by labels", http.MethodGet, "nodes?labelSelector=name=n2", 200, ""},
		{"a Pod has its running containers, init containers first, and 0 for what is not said", http.MethodGet, "namespaces/shop/pods/busy", 200, "shop/busy sidecar 0/0 app 300m/3Mi"},
		{"a Pod that does not run has none", http.MethodGet, "namespaces/shop/pods/done", 404, `podmetrics.metrics.k8s.io "shop/done" not found`},
		{"nor has one without a running container", http.MethodGet, "namespaces/shop/pods/starting", 404, `podmetrics.metrics.k8s.io "shop/starting" not found`},
		{"nor one whose Node does not report", http.MethodGet, "namespaces/shop/pods/silent", 404, `podmetrics.metrics.k8s.io "shop/silent" not found`},
		{"a Pod that does not exist", http.MethodGet, "namespaces/shop/pods/none", 404, `pods "none" not found`},
		{"Pods of a namespace, by name", http.MethodGet, "namespaces/shop/pods", 200, "shop/busy sidecar 0/0 app 300m/3Mi; shop/web app 100m/1Mi"},
		{"Pods of all namespaces", http.MethodGet, "pods", 200, "far/web app 100m/1Mi; other/web app 100m/1Mi; shop/busy sidecar 0/0 app 300m/3Mi; shop/web app 100m/1Mi"},
		{"Pods are selected by labels", http.MethodGet, "pods?labelSelector=app=busy", 200, "shop/busy sidecar 0/0 app 300m/3Mi"},
		{"Pods are selected by fields", http.MethodGet, "pods?fieldSelector=metadata.namespace=other", 200, "other/web app 100m/1Mi"},
		{"a selector is read", http.MethodGet, "pods?labelSelector=a=b=c", 400, "found '=', expected: ',' or 'end of string'"},
		{"metrics cannot be watched", http.MethodGet, "pods?watch=true", 405, "get is not supported on resources of kind \"pods.metrics.k8s.io\""},
		{"metrics cannot be written", http.MethodPost, "namespaces/shop/pods", 405, "post is not supported on resources of kind \"pods.metrics.k8s.io\""},
	} {
		t.Run(test.rule, func(t *testing.T) {
			code, body := ask(t, h, test.method, root+"/"+test.path, "application/json")
			if diff := cmp.Diff(test.want, line(body)); code != test.code || diff != "" {
				t.Errorf("code %d, want %d (-want +got):\n%s", code, test.code, diff)
			}
		})
	}
}

func TestOtherPathsAreNotFound(t *testing.T) {
	h := newHandler(t)
	for _, path := range []string{"/", root + "/services", root + "/pods/web", root + "/nodes/n1/status", root + "/namespaces/shop/nodes", root + "/namespaces/shop"} {
		if code, _ := ask(t, h, http.MethodGet, path, "application/json"); code != http.StatusNotFound {
			t.Errorf("%s: %d", path, code)
		}
	}
}

func TestTheVersionIsDiscovered(t *testing.T) {
	_, body := ask(t, newHandler(t), http.MethodGet, root, "application/json")
	var names []string
	for _, r := range body["resources"].([]any) {
		names = append(names, r.(map[string]any)["name"].(string))
	}
	if diff := cmp.Diff([]string{"nodes", "pods"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestMetricsAreATable(t *testing.T) {
	_, body := ask(t, newHandler(t), http.MethodGet, root+"/namespaces/shop/pods", "application/json;as=Table;v=v1;g=meta.k8s.io")
	var columns []string
	for _, c := range body["columnDefinitions"].([]any) {
		columns = append(columns, c.(map[string]any)["name"].(string))
	}
	rows := body["rows"].([]any)
	if diff := cmp.Diff([]string{"Name", "cpu", "memory", "Window"}, columns); diff != "" || len(rows) != 2 {
		t.Errorf("%d rows, columns (-want +got):\n%s", len(rows), diff)
	}
	cells := rows[0].(map[string]any)["cells"].([]any)
	if diff := cmp.Diff([]any{"busy", "300m", "3Mi"}, cells[:3]); diff != "" {
		t.Error(diff)
	}
}

// A client chooses how much of the objects is in the rows of a Table.
func TestTheObjectsOfATable(t *testing.T) {
	const table = "application/json;as=Table;v=v1;g=meta.k8s.io"
	for include, want := range map[string]string{"": "PartialObjectMetadata", "Metadata": "PartialObjectMetadata", "None": ""} {
		_, body := ask(t, newHandler(t), http.MethodGet, root+"/nodes?includeObject="+include, table)
		object, _ := body["rows"].([]any)[0].(map[string]any)["object"].(map[string]any)
		if kind, _ := object["kind"].(string); kind != want {
			t.Errorf("includeObject=%s: %q, want %q", include, kind, want)
		}
	}
	if code, _ := ask(t, newHandler(t), http.MethodGet, root+"/nodes?includeObject=x", table); code != http.StatusBadRequest {
		t.Errorf("another value: %d", code)
	}
	if code, _ := ask(t, newHandler(t), http.MethodGet, root+"/nodes", strings.Replace(table, "meta.k8s.io", "example.com", 1)); code != http.StatusNotAcceptable {
		t.Errorf("a Table of another group: %d", code)
	}
}
