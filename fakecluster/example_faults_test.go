package fakecluster_test

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
	"k8s.io/client-go/util/retry"

	"github.com/fakecluster/fakecluster/fakecluster"
)

func settings(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"value": value}}
}

// The first two updates fail as if another client had been faster. A client that tries again as
// it should does not mind.
func ExampleCluster_Inject() {
	c := start(fakecluster.InProcess())
	defer c.Close()

	ctx := context.Background()
	configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
	if _, err := configMaps.Create(ctx, settings("a", "old"), metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	conflicts := c.Inject(fakecluster.Fault{Verb: "update", Resource: "configmaps", Name: "a", Times: 2, Effect: fakecluster.Conflict()})
	attempts := 0
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		attempts++
		_, err := configMaps.Update(ctx, settings("a", "new"), metav1.UpdateOptions{})
		return err
	})
	fmt.Println(attempts, "attempts,", conflicts.Fired(), "conflicts, error:", err)
	// Output:
	// 3 attempts, 2 conflicts, error: <nil>
}

// The connection breaks after the write. A client that repeats it must expect that the first one succeeded.
func ExampleCutAfterCommit() {
	c := start(fakecluster.InProcess())
	defer c.Close()

	ctx := context.Background()
	configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
	c.Inject(fakecluster.Fault{Verb: "create", Resource: "configmaps", Times: 1, Effect: fakecluster.CutAfterCommit()})
	_, err := configMaps.Create(ctx, settings("a", "new"), metav1.CreateOptions{})
	fmt.Println("failed:", err != nil)
	_, err = configMaps.Create(ctx, settings("a", "new"), metav1.CreateOptions{})
	fmt.Println("already there:", apierrors.IsAlreadyExists(err))
	// Output:
	// failed: true
	// already there: true
}

// A cache that lags by one revision does not have an object that has just been created.
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
	stale := c.Inject(fakecluster.Fault{Resource: "configmaps", Effect: fakecluster.StaleRead(1)})
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

// The history is compacted, and a running watch ends with 410: the client has to list anew.
func ExampleExpireWatch() {
	c := start(fakecluster.InProcess())
	defer c.Close()

	configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
	w, err := configMaps.Watch(context.Background(), metav1.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	c.Inject(fakecluster.Fault{Resource: "configmaps", Times: 1, Effect: fakecluster.ExpireWatch()})
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

	c.Inject(fakecluster.Fault{Verb: "get", Resource: "namespaces", Probability: 0.5, Effect: fakecluster.Unavailable()})
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

	c.Inject(fakecluster.Fault{Resource: "namespaces", Latency: time.Hour})
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
	fmt.Println("gave up:", err != nil)
	// Output:
	// gave up: true
}

// A test decides when a client gets which event. Here a watch of ConfigMaps gets both changes after a
// watch of Namespaces has learned of its own.
func ExampleCluster_Hold() {
	c := start(fakecluster.InProcess())
	defer c.Close()

	ctx := context.Background()
	client := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1()
	configMaps, err := client.ConfigMaps("team").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	namespaces, err := client.Namespaces().Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=team"})
	if err != nil {
		log.Fatal(err)
	}
	hold := c.Hold()
	if _, err := client.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if _, err := client.ConfigMaps("team").Create(ctx, settings(name, "new"), metav1.CreateOptions{}); err != nil {
			log.Fatal(err)
		}
	}
	for _, held := range hold.Pending() {
		fmt.Println("held back:", held.Type, held.Resource, held.Name)
	}
	fmt.Println("delivered:", hold.DeliverKind("namespaces"), (<-namespaces.ResultChan()).Type)
	fmt.Println("delivered:", hold.Deliver(1), (<-configMaps.ResultChan()).Type)
	hold.Release()
	fmt.Println("released:", (<-configMaps.ResultChan()).Type)
	// Output:
	// held back: ADDED namespaces team
	// held back: ADDED configmaps a
	// held back: ADDED configmaps b
	// delivered: 1 ADDED
	// delivered: 1 ADDED
	// released: ADDED
}

// How many rounds of events a controller needs is an assertion: here, that a controller which answers
// one change with another one comes to rest after two.
func ExampleHold_Tick() {
	_ = func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths("config/crd"))
			hold := c.Hold()
			// Run the controller, and create what it works on.
			if ticks := hold.Settle(10); ticks != 2 {
				t.Errorf("the controller has settled after %d ticks", ticks)
			}
		})
	}
}
