package ginkgo

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// base is the cluster of the suite. Each spec gets a fork of it.
var base *fakecluster.Cluster

func TestControllers(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Controllers")
}

var _ = BeforeSuite(func() { base = fakecluster.Start(GinkgoTB()) })

// greeter keeps a ConfigMap in each Namespace.
type greeter struct{ client.Client }

func (g *greeter) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	greeting := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: req.Name, Name: "greeting"}}
	_, err := controllerutil.CreateOrUpdate(ctx, g.Client, greeting, func() error {
		greeting.Data = map[string]string{"text": "hello " + req.Name}
		return nil
	})
	return ctrl.Result{}, err
}

func setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.Namespace{}).Complete(&greeter{mgr.GetClient()})
}
