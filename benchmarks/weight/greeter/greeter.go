// Package greeter is the small operator whose tests are measured: its test with fakecluster
// and its test with envtest differ only in how the API server starts.
package greeter

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Greeter keeps a ConfigMap in each Namespace.
type Greeter struct{ client.Client }

// Reconcile creates the ConfigMap of a Namespace, or corrects it.
func (g *Greeter) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	greeting := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: req.Name, Name: "greeting"}}
	_, err := controllerutil.CreateOrUpdate(ctx, g.Client, greeting, func() error {
		greeting.Data = map[string]string{"text": "hello " + req.Name}
		return nil
	})
	return ctrl.Result{}, err
}

// Test runs a Greeter in the cluster of a configuration, creates a Namespace, and waits for
// its ConfigMap.
func Test(t *testing.T, cluster *rest.Config) {
	t.Helper()
	mgr, err := ctrl.NewManager(cluster, ctrl.Options{
		Metrics:    server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, // more than one test has the controller
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := ctrl.NewControllerManagedBy(mgr).For(&corev1.Namespace{}).Complete(&Greeter{mgr.GetClient()}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := mgr.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	defer running.Wait()
	defer stop()

	team := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}
	if err := mgr.GetClient().Create(t.Context(), team); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKey{Namespace: "team", Name: "greeting"}
	var greeting corev1.ConfigMap
	for mgr.GetAPIReader().Get(t.Context(), key, &greeting) != nil {
		select {
		case <-t.Context().Done():
			t.Fatal("the Namespace has no greeting")
		case <-time.After(10 * time.Millisecond):
		}
	}
	if got := greeting.Data["text"]; got != "hello team" {
		t.Errorf("the greeting is %q", got)
	}
}
