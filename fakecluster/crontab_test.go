package fakecluster_test

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	clientrest "k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/testing/compare"
	"github.com/fakecluster/fakecluster/internal/testing/consistency"
)

// cronTabManifest is the definition that the Kubernetes documentation begins with. The
// examples install it from its file.
//
//go:embed testdata/crd/crontabs.yaml
var cronTabManifest string

const (
	group      = "stable.example.com"
	definition = "crontabs.stable.example.com"
)

var (
	cronTabs   = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "crontabs"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

func cronTabDefinition() *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(cronTabManifest), crd); err != nil {
		panic(err)
	}
	return crd
}

// object is a JSON object.
type object = map[string]any

// cronTab is the object that the documentation creates, by another name.
func cronTab(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "stable.example.com/v1", "kind": "CronTab",
		"metadata": object{"name": name, "namespace": "default"},
		"spec":     object{"cronSpec": "* * * * */5", "image": "my-awesome-cron-image"},
	}}
}

func newNamespace(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name},
	}}
}

// defined is a cluster in which the CronTab is defined.
func defined(t testing.TB, opts ...fakecluster.Option) *fakecluster.Cluster {
	t.Helper()
	c := fakecluster.Start(t, opts...)
	define(t, c, cronTabDefinition())
	return c
}

func define(t testing.TB, c *fakecluster.Cluster, crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	created, err := c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), crd, metav1.CreateOptions{})
	must(t, err)
	return created
}

func getDefinition(t testing.TB, c *fakecluster.Cluster, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd, err := c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Get(t.Context(), name, metav1.GetOptions{})
	must(t, err)
	return crd
}

func deleteDefinition(t testing.TB, c *fakecluster.Cluster, name string) {
	t.Helper()
	must(t, c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Delete(t.Context(), name, metav1.DeleteOptions{}))
}

// inDefault are the CronTabs of the namespace "default".
func inDefault(c *fakecluster.Cluster) dynamic.ResourceInterface {
	return c.Dynamic().Resource(cronTabs).Namespace("default")
}

func create(t testing.TB, r dynamic.ResourceInterface, u *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	created, err := r.Create(t.Context(), u, metav1.CreateOptions{})
	must(t, err)
	return created
}

func get(t testing.TB, r dynamic.ResourceInterface, name string) *unstructured.Unstructured {
	t.Helper()
	u, err := r.Get(t.Context(), name, metav1.GetOptions{})
	must(t, err)
	return u
}

func list(t testing.TB, r dynamic.ResourceInterface) *unstructured.UnstructuredList {
	t.Helper()
	l, err := r.List(t.Context(), metav1.ListOptions{})
	must(t, err)
	return l
}

func remove(t testing.TB, r dynamic.ResourceInterface, name string) {
	t.Helper()
	must(t, r.Delete(t.Context(), name, metav1.DeleteOptions{}))
}

// change updates the object's spec.image.
func change(t testing.TB, r dynamic.ResourceInterface, u *unstructured.Unstructured, image string) *unstructured.Unstructured {
	t.Helper()
	u = u.DeepCopy()
	must(t, unstructured.SetNestedField(u.Object, image, "spec", "image"))
	updated, err := r.Update(t.Context(), u, metav1.UpdateOptions{})
	must(t, err)
	return updated
}

// setFinalizers replaces the object's finalizers.
func setFinalizers(t testing.TB, r dynamic.ResourceInterface, name string, finalizers ...string) {
	t.Helper()
	u := get(t, r, name)
	u.SetFinalizers(finalizers)
	_, err := r.Update(t.Context(), u, metav1.UpdateOptions{})
	must(t, err)
}

func names(l *unstructured.UnstructuredList) []string {
	found := []string{}
	for _, u := range l.Items {
		found = append(found, u.GetName())
	}
	return found
}

// revision is the number in a resourceVersion.
func revision(t testing.TB, m interface{ GetResourceVersion() string }) int {
	t.Helper()
	n, err := strconv.Atoi(m.GetResourceVersion())
	if err != nil {
		t.Fatalf("resourceVersion: %v", err)
	}
	return n
}

// fixed is an object without what differs from run to run: uid, times and
// managedFields. It has to have a uid and a time of creation.
func fixed(t testing.TB, u *unstructured.Unstructured) object {
	t.Helper()
	if created := u.GetCreationTimestamp(); u.GetUID() == "" || created.IsZero() {
		t.Errorf("%s %q has no uid or no creationTimestamp", u.GetKind(), u.GetName())
	}
	u = u.DeepCopy()
	for _, field := range []string{"uid", "creationTimestamp", "managedFields"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	return u.Object
}

// stored is a CronTab as fixed shows it.
func stored(name, image string, generation int64, resourceVersion int) object {
	return object{
		"apiVersion": "stable.example.com/v1", "kind": "CronTab",
		"metadata": object{
			"name": name, "namespace": "default", "generation": generation,
			"resourceVersion": strconv.Itoa(resourceVersion),
		},
		"spec": object{"cronSpec": "* * * * */5", "image": image},
	}
}

// event is an event of a watch. Its object is in the form that fixed returns.
type event struct {
	Type   watch.EventType
	Object object
}

// patience is how long the tests wait for what has to come at once. It never
// decides between passing and failing, only between failing and hanging.
const patience = time.Minute

// next returns the next n events of a watch.
func next(t testing.TB, w watch.Interface, n int) []event {
	t.Helper()
	var events []event
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for len(events) < n {
		select {
		case e, open := <-w.ResultChan():
			if !open {
				t.Fatalf("the watch ended after %d events of %d: %v", len(events), n, events)
			}
			u, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				t.Fatalf("%s: %+v", e.Type, e.Object)
			}
			events = append(events, event{e.Type, fixed(t, u)})
		case <-ctx.Done():
			t.Fatalf("after %d events of %d: %v", len(events), n, context.Cause(ctx))
		}
	}
	return events
}

// ended returns what a watch still has to say, and fails unless it then ends.
func ended(t testing.TB, w watch.Interface) (left []watch.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	for {
		select {
		case e, open := <-w.ResultChan():
			if !open {
				return left
			}
			left = append(left, e)
		case <-ctx.Done():
			t.Fatalf("the watch does not end: %v", context.Cause(ctx))
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var equal = compare.Equal

// fails compares an error's text.
func fails(t testing.TB, what string, got error, want string) {
	t.Helper()
	if text := fmt.Sprint(got); text != want {
		t.Errorf("%s:\n got %s\nwant %s", what, text, want)
	}
}

// newWire returns a Wire to a cluster, with the credentials of its administrator.
func newWire(t testing.TB, c *fakecluster.Cluster) consistency.Wire {
	t.Helper()
	client, err := clientrest.HTTPClientFor(c.RESTConfig())
	must(t, err)
	return consistency.Wire{Client: client, URL: c.URL()}
}
