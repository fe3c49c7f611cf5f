package website_test

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/examples/website"
	"github.com/fakecluster/fakecluster/explore"
)

// TestTheOperatorWhateverGoesWrong plays the life of a Website again and again, each time with one thing
// that goes wrong at another point: the operator stops at a write and is started again, a connection
// breaks, a watch is late. Whatever it is, a minute later everything has to be as it should.
//
// The status of the Deployment is written by hand. Nothing goes wrong with the controllers of a living cluster here, and it would be
// started for each of the runs, which then take several times as long. TestLifeOfAWebsite has one, and so does TestExploreTheOperator.
func TestTheOperatorWhateverGoesWrong(t *testing.T) {
	explore.Run(t, body(correct), explore.With(installed()...))
}

// body is the test of an operator, which setup adds to a manager.
func body(setup func(ctrl.Manager, *registry) error) explore.Body {
	return func(t testing.TB, c *explore.Cluster) {
		hosts := &registry{} // it is elsewhere, and outlives the operator
		c.Control("website-operator", c.ServiceAccountConfig("system", "website-operator"), func(ctx context.Context, cfg *rest.Config) error {
			return controllerruntime.Start(ctx, cfg, func(mgr ctrl.Manager) error { return setup(mgr, hosts) }, controllerruntime.WithScheme(scheme))
		})
		live(t, c.RESTConfig(), hosts, c.Wait)
	}
}

// correct adds the controller of the operator.
func correct(mgr ctrl.Manager, hosts *registry) error {
	return website.Operator{Registry: hosts}.SetupController(mgr)
}

// live plays the life of a Website, and checks it.
func live(t testing.TB, cfg *rest.Config, hosts *registry, wait func(time.Duration)) {
	cl, err := client.New(cfg, client.Options{Scheme: scheme})
	must(t, err)
	site := newSite()
	site.Spec.Image = image // no webhook fills it in
	must(t, cl.Create(t.Context(), site))
	wait(time.Minute)

	deployment := named(&appsv1.Deployment{})
	must(t, cl.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment))
	deployment.Status.Replicas, deployment.Status.ReadyReplicas, deployment.Status.AvailableReplicas = 2, 2, 2
	must(t, cl.Status().Update(t.Context(), deployment))
	wait(time.Minute)
	must(t, cl.Get(t.Context(), client.ObjectKeyFromObject(site), site))
	for _, condition := range []string{website.Available, website.Registered} {
		equal(t, condition, meta.IsStatusConditionTrue(site.Status.Conditions, condition), true)
	}
	equal(t, "the hosts", hosts.owners, map[string]string{"www.example.com": string(site.UID)})

	must(t, cl.Delete(t.Context(), site))
	wait(time.Minute)
	for _, object := range []client.Object{site, deployment, named(&corev1.ConfigMap{}), named(&corev1.Service{})} {
		if err := cl.Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
			t.Errorf("a %T is left: %v", object, err)
		}
	}
	equal(t, "the hosts that are left", len(hosts.owners), 0)
}
