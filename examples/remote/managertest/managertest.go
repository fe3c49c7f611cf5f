// Package managertest runs managers on clusters of remote in tests. Copy this file: it compiles with controller-runtime 0.18 to 0.25.
package managertest

import (
	"context"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fakecluster/fakecluster/remote"
	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Run starts a manager, to which setup adds controllers and webhooks, and ends it with the test, in a bubble and outside. The cluster calls
// its webhooks if it was started with remote.WebhookPaths. The log of the test has its errors.
func Run(t testing.TB, c *remote.Cluster, o ctrl.Options, setup func(ctrl.Manager) error) ctrl.Manager {
	var ended atomic.Bool
	o.Logger = funcr.New(func(_, line string) {
		if strings.Contains(line, `"error"=`) && !strings.Contains(line, "context canceled") && !ended.Load() {
			t.Log(line)
		}
	}, funcr.Options{})
	o.Metrics.BindAddress, o.HealthProbeBindAddress = "0", "0"
	o.WebhookServer = silent{webhook.NewServer(webhook.Options{})}
	if f := reflect.ValueOf(&o.Controller).Elem().FieldByName("SkipNameValidation"); f.IsValid() { // since 0.19
		f.Set(reflect.ValueOf(&[]bool{true}[0]))
	}
	mgr, err := ctrl.NewManager(&rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}, o)
	if err == nil {
		err = setup(mgr)
	}
	if mux := o.WebhookServer.WebhookMux(); err == nil && mux != nil && c.WebhookServer().Port != 0 {
		err = c.ServeWebhooks(mux)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Errorf("the manager: %v", err)
		}
		ended.Store(true)
	})
	return mgr
}

// silent does not listen: the cluster calls its handler.
type silent struct{ webhook.Server }

func (silent) Start(ctx context.Context) error { <-ctx.Done(); return nil }
func (silent) StartedChecker() healthz.Checker { return healthz.Ping }
