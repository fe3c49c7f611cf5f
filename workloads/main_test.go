package workloads_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/testing/leaktest"
	"github.com/fakecluster/fakecluster/internal/testing/memorytest"
	"github.com/fakecluster/fakecluster/workloads"
)

// TestMain fails the package if a test left a goroutine behind.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_PROGRAM") != "" {
		os.Exit(testProgram())
	}
	memorytest.Verify()
	code := m.Run()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	os.Exit(leaktest.Check(code))
}

// world is a living cluster in a bubble.
type world struct {
	*testing.T
	*workloads.Workloads
	cluster *fakecluster.Cluster
	client  kubernetes.Interface
}

// inBubble runs a test in a bubble, with a living cluster. No controller may lack a permission.
func inBubble(t *testing.T, test func(w world), opts ...workloads.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		w := world{t, workloads.Run(t, c, opts...), c, kubernetes.NewForConfigOrDie(c.RESTConfig())}
		test(w)
		w.pass(0)
		for _, r := range c.Requests() {
			terminating := strings.Contains(r.Message, "because it is being terminated")
			if r.Code == http.StatusForbidden && !terminating || r.Code == http.StatusUnauthorized {
				t.Errorf("a controller may not do what it does: %v", r)
			}
		}
	})
}

// pass lets time pass, and waits until nothing moves.
func (w world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// create creates the objects of a YAML file, one after the other, and waits after each until nothing moves.
func (w world) create(file string) {
	w.Helper()
	for _, document := range strings.Split(file, "---\n") {
		w.post(document)
		w.pass(2 * time.Second) // the Job controller, for example, gathers changes for a second
	}
}

// post creates the objects of a YAML file, with their statuses, in the namespace default.
func (w world) post(file string) {
	w.Helper()
	for _, document := range strings.Split(file, "---\n") {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &obj.Object); err != nil {
			w.Fatal(err)
		}
		kind := obj.GroupVersionKind()
		mapping, err := w.cluster.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			w.Fatal(err)
		}
		client := w.cluster.Dynamic().Resource(mapping.Resource).Namespace(obj.GetNamespace())
		if mapping.Scope.Name() == "namespace" && obj.GetNamespace() == "" {
			client = w.cluster.Dynamic().Resource(mapping.Resource).Namespace("default")
		}
		status := obj.Object["status"]
		delete(obj.Object, "status")
		created, err := client.Create(w.Context(), obj, metav1.CreateOptions{})
		if err != nil {
			w.Fatal(err)
		}
		if status != nil {
			patch, err := json.Marshal(map[string]any{"status": status})
			if err != nil {
				w.Fatal(err)
			}
			if _, err := client.Patch(w.Context(), created.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
				w.Fatal(err)
			}
		}
	}
}

// newPod returns a Pod in the namespace default. Its specification is YAML.
func newPod(t testing.TB, name, spec string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &pod.Spec); err != nil {
		t.Fatal(err)
	}
	return pod
}

// createPod creates the Pod that newPod returns.
func createPod(t testing.TB, c *fakecluster.Cluster, name, spec string) *corev1.Pod {
	t.Helper()
	created, err := c.Clientset().CoreV1().Pods("default").Create(t.Context(), newPod(t, name, spec), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func (w world) createPod(name, spec string) {
	w.Helper()
	createPod(w.T, w.cluster, name, spec)
}

// patch changes an object of the namespace default, and waits until nothing moves.
func (w world) patch(resource, name, patch string) {
	w.Helper()
	gvr, err := w.cluster.RESTMapper().ResourceFor(parse(resource))
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.cluster.Dynamic().Resource(gvr).Namespace("default").Patch(w.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
	w.pass(2 * time.Second)
}

// object returns an object, by the name of its kind in a RESTMapper, or fails.
func (w world) object(resource, name string) *unstructured.Unstructured {
	w.Helper()
	obj := w.find(resource, name)
	if obj == nil {
		w.Fatalf("there is no %s %s", resource, name)
	}
	return obj
}

// find returns an object, or nil if it does not exist.
func (w world) find(resource, name string) *unstructured.Unstructured {
	w.Helper()
	objects := w.list(resource)
	for i := range objects {
		if objects[i].GetName() == name {
			return &objects[i]
		}
	}
	return nil
}

// list returns the objects of a kind, of all namespaces.
func (w world) list(resource string) []unstructured.Unstructured {
	w.Helper()
	gvr, err := w.cluster.RESTMapper().ResourceFor(parse(resource))
	if err != nil {
		w.Fatal(err)
	}
	list, err := w.cluster.Dynamic().Resource(gvr).List(w.Context(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// field returns a field of an object as YAML, by a path such as status.phase.
func field(obj *unstructured.Unstructured, path string) string {
	value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, strings.Split(path, ".")...)
	if value == nil {
		return ""
	}
	if text, ok := value.(string); ok {
		return text
	}
	text, _ := yaml.Marshal(value)
	return strings.TrimSpace(string(text))
}

// condition returns the status and the reason of a condition, such as "True Bound".
func condition(obj *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		c := c.(map[string]any)
		if c["type"] == kind {
			reason, _ := c["reason"].(string)
			return strings.TrimSpace(c["status"].(string) + " " + reason)
		}
	}
	return ""
}

// events returns the Events about objects of a name, as their reasons and messages.
func (w world) events(name string) (events []string) {
	w.Helper()
	for _, e := range w.list("events") {
		if field(&e, "involvedObject.name") == name {
			events = append(events, field(&e, "reason")+": "+field(&e, "message"))
		}
	}
	return events
}

// parse reads a resource such as deployments.apps.
func parse(resource string) schema.GroupVersionResource {
	gr := schema.ParseGroupResource(resource)
	return gr.WithVersion("")
}

// newCluster starts a cluster outside of bubbles.
func newCluster(t *testing.T) *fakecluster.Cluster {
	t.Helper()
	return fakecluster.Start(t, fakecluster.InProcess())
}
