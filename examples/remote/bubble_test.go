package remote

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fakecluster/fakecluster/examples/website"
	"github.com/fakecluster/fakecluster/remote"
)

// hosts counts the registrations of a host.
type hosts struct{ registered atomic.Int64 }

func (h *hosts) Register(context.Context, string, string, string) error {
	h.registered.Add(1)
	return nil
}

func (h *hosts) count() int64 { return h.registered.Load() }

func (h *hosts) Release(context.Context, string, string) error { return nil }

// A manager of controller-runtime runs in virtual time, and its cluster with nodes and Pods is in another process.
func TestTheHostIsRegisteredEveryHour(t *testing.T) {
	base := remote.Start(t, remote.CRDPaths("../website/config/crd"))
	synctest.Test(t, func(t *testing.T) {
		c := base.Fork(t)
		if err := c.RunWorkloads("nodes: 1"); err != nil {
			t.Fatal(err)
		}
		registry := &hosts{}
		operate(t, &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}, registry)
		c.WaitFor(t, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "home"}}, remote.HasCondition("Available"))
		time.Sleep(time.Minute)
		before := registry.count()
		time.Sleep(8 * time.Hour)
		if n := registry.count() - before; n < 8 || n > 9 { // controller-runtime may look at all objects once more
			t.Errorf("%d registrations in eight hours", n)
		}
	})
}

// operate runs the operator until the bubble ends, with a Website.
func operate(t *testing.T, cfg *rest.Config, registry website.Registry) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, website.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := (website.Operator{Registry: registry}).SetupController(mgr); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(t.Context()) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	cl, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	site := &website.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "home"},
		Spec:       website.WebsiteSpec{Host: "www.example.com", Page: "Hello", Image: "web:1"},
	}
	if err := cl.Create(t.Context(), site); err != nil {
		t.Fatal(err)
	}
}
