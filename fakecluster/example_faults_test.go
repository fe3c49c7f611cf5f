package fakecluster_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
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
	conflicts := c.Inject(faults.Fault{Verb: "update", Resource: "configmaps", Name: "a", Times: 2, Effect: faults.Conflict()})
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
