package remote

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fakecluster/fakecluster/examples/remote/managertest"
	"github.com/fakecluster/fakecluster/examples/website"
	"github.com/fakecluster/fakecluster/remote"
)

func TestTheWebhooksOfAManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := remote.Start(t, remote.CRDPaths("../website/config/crd"), remote.WebhookPaths("../website/config/webhook"))
		operator := website.Operator{Image: "web:1", Registry: &hosts{}}
		mgr := managertest.Run(t, c, ctrl.Options{Scheme: website.NewScheme()}, operator.SetupWebhooks)

		site := &website.Website{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "home"}, Spec: website.WebsiteSpec{Host: "www.example.com", Page: "Hello"}}
		if err := mgr.GetClient().Create(t.Context(), site); err != nil {
			t.Fatal(err)
		}
		if site.Spec.Image != "web:1" {
			t.Errorf("the webhook has set the image %q", site.Spec.Image)
		}
		site.Spec.Page = "{{"
		if err := mgr.GetClient().Update(t.Context(), site); err == nil || !strings.Contains(err.Error(), `admission webhook "validate.websites.example.com" denied the request`) {
			t.Errorf("a page that is not a template: %v", err)
		}
	})
}

// runOperator runs the controller of the operator as a client of the cluster, until ctx ends.
func runOperator(ctx context.Context, cfg *rest.Config, operator website.Operator) error {
	skip := true // each Pod has a controller of the same name in this process
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{Scheme: website.NewScheme(), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", Controller: config.Controller{SkipNameValidation: &skip}})
	if err != nil {
		return err
	}
	if err := operator.SetupController(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// The operator runs in a Pod, as its ServiceAccount, and a new Pod goes on when that one is deleted.
func TestTheOperatorRunsInAPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := &hosts{}
		c := remote.Start(t, remote.CRDPaths("../website/config/crd"), remote.Workloads("nodes: 1"),
			remote.Objects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "system"}}), remote.Manifests("../website/config/rbac"),
			remote.Image("registry.example.com/website-operator", func(ctx context.Context, p *remote.Container) error {
				cfg, err := p.Config() // of the Pod's ServiceAccount, under RBAC
				if err != nil {
					return err
				}
				return runOperator(ctx, &rest.Config{Host: cfg.Host, BearerToken: cfg.BearerToken, Transport: p.Transport(), QPS: -1}, website.Operator{Registry: registry})
			}))
		cl, err := client.New(&rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}, client.Options{Scheme: website.NewScheme()})
		if err != nil {
			t.Fatal(err)
		}
		labels := map[string]string{"app": "website-operator"}
		for _, obj := range []client.Object{
			&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "website-operator"}, Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
					ServiceAccountName: "website-operator", Containers: []corev1.Container{{Name: "manager", Image: "registry.example.com/website-operator:1.0"}}}},
			}},
			&website.Website{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "home"}, Spec: website.WebsiteSpec{Host: "www.example.com", Page: "Hello", Image: "web:1"}},
		} {
			if err := cl.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
		}
		c.WaitFor(t, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "home"}}, remote.HasCondition("Available"))
		if err := cl.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace("system"), client.MatchingLabels(labels)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		before := registry.count()
		time.Sleep(3 * time.Hour)
		if n := registry.count() - before; n < 3 {
			t.Errorf("%d registrations in three hours after the Pod was deleted", n)
		}
	})
}
