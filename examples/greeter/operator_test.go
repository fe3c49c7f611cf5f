package operator

import (
	"context"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fakecluster/fakecluster/controllerruntime"
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
		mgr := controllerruntime.Run(t, c, func(mgr ctrl.Manager) error {
			return ctrl.NewControllerManagedBy(mgr).For(&corev1.Namespace{}).Complete(&Greeter{mgr.GetClient()})
		})
		team := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}
		if err := mgr.GetClient().Create(t.Context(), team); err != nil {
			t.Fatal(err)
		}
		greeting := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "greeting"}}
		c.WaitFor(t, greeting, fakecluster.CEL("'text' in object.data")) // takes no time: the clock is the bubble's
		if got := greeting.Data["text"]; got != "hello team" {
			t.Errorf("the greeting is %q", got)
		}
	})
}
