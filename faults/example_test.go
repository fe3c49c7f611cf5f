package faults_test

import (
	"context"
	"fmt"
	"log"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
)

// start is New for examples, which have no test that could fail.
func start(opts ...fakecluster.Option) *fakecluster.Cluster {
	c, err := fakecluster.New(opts...)
	if err != nil {
		log.Fatal(err)
	}
	return c
}

func settings(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"value": value}}
}

// The connection breaks after the write. Who tries again has to know that it may have been made.
func ExampleCutAfterCommit() {
	c := start(fakecluster.InProcess())
	defer c.Close()

	ctx := context.Background()
	configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
	c.Inject(faults.Fault{Verb: "create", Resource: "configmaps", Times: 1, Effect: faults.CutAfterCommit()})
	_, err := configMaps.Create(ctx, settings("a", "new"), metav1.CreateOptions{})
	fmt.Println("failed:", err != nil)
	_, err = configMaps.Create(ctx, settings("a", "new"), metav1.CreateOptions{})
	fmt.Println("already there:", apierrors.IsAlreadyExists(err))
	// Output:
	// failed: true
	// already there: true
}

// A cache that lags by one revision does not know what has just been created.
func ExampleStaleRead() {
	c := start(fakecluster.InProcess())
	defer c.Close()

	ctx := context.Background()
	configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
	for _, name := range []string{"a", "b"} {
		if _, err := configMaps.Create(ctx, settings(name, "new"), metav1.CreateOptions{}); err != nil {
			log.Fatal(err)
		}
	}
	stale := c.Inject(faults.Fault{Resource: "configmaps", Effect: faults.StaleRead(1)})
	seen, err := configMaps.List(ctx, metav1.ListOptions{})
	fmt.Println(len(seen.Items), "of two, error:", err)
	_, err = configMaps.Get(ctx, "b", metav1.GetOptions{})
	fmt.Println(err)
	stale.Stop()
	_, err = configMaps.Get(ctx, "b", metav1.GetOptions{})
	fmt.Println(err)
	// Output:
	// 1 of two, error: <nil>
	// configmaps "b" not found
	// <nil>
}

// The history is compacted, and a watch that runs gets an error: the client has to list anew.
func ExampleExpireWatch() {
	c := start(fakecluster.InProcess())
	defer c.Close()

	configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
	w, err := configMaps.Watch(context.Background(), metav1.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	c.Inject(faults.Fault{Resource: "configmaps", Times: 1, Effect: faults.ExpireWatch()})
	for event := range w.ResultChan() {
		fmt.Println(event.Type, apierrors.IsResourceExpired(apierrors.FromObject(event.Object)))
	}
	// Output:
	// ERROR true
}

// A fault may strike at random. With WithSeed the same requests are struck again.
func ExampleFault_probability() {
	c := start(fakecluster.InProcess(), fakecluster.WithSeed(1))
	defer c.Close()

	c.Inject(faults.Fault{Verb: "get", Resource: "namespaces", Probability: 0.5, Effect: faults.Unavailable()})
	namespaces := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Namespaces()
	for range 5 {
		_, err := namespaces.Get(context.Background(), "default", metav1.GetOptions{})
		fmt.Println(err)
	}
	// Output:
	// apiserver is shutting down
	// <nil>
	// apiserver is shutting down
	// apiserver is shutting down
	// <nil>
}

// A client gives up before the server answers.
func ExampleFault_latency() {
	c := start(fakecluster.InProcess())
	defer c.Close()

	c.Inject(faults.Fault{Resource: "namespaces", Latency: time.Hour})
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
	fmt.Println("gave up:", err != nil)
	// Output:
	// gave up: true
}

// How many rounds of events a controller needs is an assertion: here, that a controller which answers
// one change with another one comes to rest after two.
func ExampleHold_Tick() {
	_ = func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths("config/crd"))
			hold := c.Hold()
			// Run the controller, and create what it works on.
			if ticks := hold.Drain(10); ticks != 2 {
				t.Errorf("the controller was done after %d ticks", ticks)
			}
		})
	}
}
