package operator

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// Greeter keeps a ConfigMap in each Namespace.
type Greeter struct{ client.Client }

func (g *Greeter) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	greeting := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: req.Name, Name: "greeting"}}
	_, err := controllerutil.CreateOrUpdate(ctx, g.Client, greeting, func() error {
		greeting.Data = map[string]string{"text": "hello " + req.Name}
		return nil
	})
	return ctrl.Result{}, err
}

func TestGreeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		mgr, err := ctrl.NewManager(c.RESTConfig(), ctrl.Options{
			Metrics:    server.Options{BindAddress: "0"},                 // no socket in the bubble
			Controller: config.Controller{SkipNameValidation: new(true)}, // more than one test has the controller
		})
		if err != nil {
			t.Fatal(err)
		}
		greeter := &Greeter{mgr.GetClient()}
		if err := ctrl.NewControllerManagedBy(mgr).For(&corev1.Namespace{}).Complete(greeter); err != nil {
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
		time.Sleep(time.Second) // takes no time: the clock is the bubble's
		synctest.Wait()         // until the controller has nothing more to do
		var greeting corev1.ConfigMap
		if err := mgr.GetAPIReader().Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "greeting"}, &greeting); err != nil {
			t.Fatal(err)
		}
		if got := greeting.Data["text"]; got != "hello team" {
			t.Errorf("the greeting is %q", got)
		}
	})
}
