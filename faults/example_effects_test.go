package faults_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
)

func manifest(text string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		log.Fatal(err)
	}
	return u
}

// struck creates a ConfigMap while a fault is in force, and tries again. It prints both errors.
func struck(effect faults.Effect) {
	c := start(fakecluster.InProcess())
	defer c.Close()

	c.Inject(faults.Fault{Verb: "create", Resource: "configmaps", Times: 1, Effect: effect})
	configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
	for range 2 {
		_, err := configMaps.Create(context.Background(), settings("a", "new"), metav1.CreateOptions{})
		fmt.Println(err)
	}
}

// Any Status can be the answer. Nothing has been written then.
func ExampleFail() {
	struck(faults.Fail(apierrors.NewUnauthorized("the token has expired")))
	// Output:
	// the token has expired
	// <nil>
}

// An update fails although no other client has written the object.
func ExampleConflict() {
	c := start(fakecluster.InProcess())
	defer c.Close()

	ctx := context.Background()
	configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
	if _, err := configMaps.Create(ctx, settings("a", "old"), metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	c.Inject(faults.Fault{Verb: "update", Resource: "configmaps", Times: 1, Effect: faults.Conflict()})
	_, err := configMaps.Update(ctx, settings("a", "new"), metav1.UpdateOptions{})
	fmt.Println(err)
	// Output:
	// Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again
}

// Without a Retry-After the client sees the error. With one, client-go tries again by itself.
func ExampleTooManyRequests() {
	struck(faults.TooManyRequests(0))
	// Output:
	// the server has received too many requests and has asked us to try again later (post configmaps)
	// <nil>
}

func ExampleInternalError() {
	struck(faults.InternalError("etcdserver: leader changed"))
	// Output:
	// Internal error occurred: etcdserver: leader changed
	// <nil>
}

func ExampleUnavailable() {
	struck(faults.Unavailable())
	// Output:
	// apiserver is shutting down
	// <nil>
}

// The response is a timeout, and nothing has been written.
func ExampleTimeout() {
	struck(faults.Timeout())
	// Output:
	// Timeout: request did not complete within requested timeout - context deadline exceeded
	// <nil>
}

// The connection breaks, and nothing has been written: another attempt succeeds.
func ExampleCutBeforeCommit() {
	struck(faults.CutBeforeCommit())
	// Output:
	// Post "http://fakecluster.invalid/api/v1/namespaces/default/configmaps": unexpected EOF
	// <nil>
}

// An unexpected policy refuses a valid object.
func ExampleRefuseAdmission() {
	struck(faults.RefuseAdmission("no changes on Fridays"))
	// Output:
	// configmaps "a" is forbidden: no changes on Fridays
	// <nil>
}

// The connection of a watch breaks after one event. A client lists and watches again from there.
func ExampleDropWatch() {
	c := start(fakecluster.InProcess())
	defer c.Close()

	ctx := context.Background()
	configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
	w, err := configMaps.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	c.Inject(faults.Fault{Resource: "configmaps", Times: 1, Effect: faults.DropWatch(1)})
	for _, name := range []string{"a", "b"} {
		if _, err := configMaps.Create(ctx, settings(name, "new"), metav1.CreateOptions{}); err != nil {
			log.Fatal(err)
		}
	}
	for event := range w.ResultChan() {
		fmt.Println(event.Type, event.Object.(*corev1.ConfigMap).Name)
	}
	fmt.Println("the watch has ended")
	// Output:
	// ADDED a
	// the watch has ended
}

// A watch delivers a change later than a get shows it.
func ExampleDelayWatch() {
	c := start(fakecluster.InProcess())
	defer c.Close()

	ctx := context.Background()
	configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
	w, err := configMaps.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	late := c.Inject(faults.Fault{Resource: "configmaps", Effect: faults.DelayWatch(time.Hour)})
	if _, err := configMaps.Create(ctx, settings("a", "new"), metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	_, err = configMaps.Get(ctx, "a", metav1.GetOptions{})
	fmt.Println("it is there:", err == nil, "and the watch knows:", len(w.ResultChan()) > 0)
	w.Stop()
	fmt.Println("struck:", late.Fired())
	// Output:
	// it is there: true and the watch knows: false
	// struck: 1
}

// The webhook is down. Its failurePolicy is Fail, so that nothing can be written.
func ExampleFailWebhook() {
	c := start(fakecluster.InProcess(), fakecluster.WithService("default", "checks", 443, http.NotFoundHandler()),
		fakecluster.WithObjects(manifest(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: checks}
webhooks:
- name: check.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {service: {name: checks, namespace: default}}
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
`)))
	defer c.Close()

	c.Inject(faults.Fault{Verb: "create", Effect: faults.FailWebhook("check.example.com")})
	_, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default").
		Create(context.Background(), settings("a", "new"), metav1.CreateOptions{})
	fmt.Println(err)
	// Output:
	// Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: Post "https://checks.default.svc:443/?timeout=10s": dial tcp checks.default.svc:443: connect: connection refused
}

// Objects are not converted: they are served in the version in which they are stored, and in no other.
func ExampleFailConversion() {
	convert := func(context.Context, *unstructured.Unstructured, string) error { return nil }
	c := start(fakecluster.InProcess(), fakecluster.WithCRDPaths("../fakecluster/testdata/versions"),
		fakecluster.WithConversion("crontabs.example.com", fakecluster.ConversionFunc(convert)))
	defer c.Close()

	ctx := context.Background()
	in := func(version string) func() error {
		cronTabs := c.Dynamic().Resource(schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "crontabs"})
		return func() error {
			_, err := cronTabs.Namespace("default").Get(ctx, "a", metav1.GetOptions{})
			return err
		}
	}
	_, err := c.Dynamic().Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1beta1", Resource: "crontabs"}).Namespace("default").
		Create(ctx, manifest(`{apiVersion: example.com/v1beta1, kind: CronTab, metadata: {name: a}}`), metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	c.Inject(faults.Fault{Resource: "crontabs.example.com", Effect: faults.FailConversion()})
	fmt.Println("v1beta1 is served:", in("v1beta1")() == nil)
	fmt.Println("v1 is served:", in("v1")() == nil)
	// Output:
	// v1beta1 is served: true
	// v1 is served: false
}
