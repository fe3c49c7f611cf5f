package website_test

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fakecluster/fakecluster/examples/website"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// TestLifeOfAWebsite runs the whole operator as it is installed: over sockets, with its webhooks,
// under its role, and the pods of Websites run. Whatever the role does not allow fails a step, and whatever it allows without
// need fails CheckUnusedRules at the end.
func TestLifeOfAWebsite(t *testing.T) {
	c := fakecluster.Start(t, append(installed(), fakecluster.WithWebhookPaths("config/webhook"))...)
	w := workloads.Run(t, c, workloads.Nodes(1)) // the pods of Websites run there
	hosts := &registry{}
	operator := website.Operator{Image: image, Registry: hosts}
	run(t, c, func(mgr ctrl.Manager) error {
		return errors.Join(operator.SetupController(mgr), operator.SetupWebhooks(mgr))
	})
	cl := newClient(t, c)

	site := newSite()
	must(t, cl.Create(t.Context(), site))
	equal(t, "the image, by the webhook", site.Spec.Image, image)
	equal(t, "the replicas, by the schema", site.Spec.Replicas, 2)

	c.WaitFor(t, site, fakecluster.HasCondition(website.Registered))
	equal(t, "the finalizer", controllerutil.ContainsFinalizer(site, website.Finalizer), true)
	page, service := &corev1.ConfigMap{}, &corev1.Service{}
	must(t, cl.Get(t.Context(), client.ObjectKeyFromObject(site), page))
	equal(t, "the page", page.Data["index.html"], "Welcome to www.example.com!")
	must(t, cl.Get(t.Context(), client.ObjectKeyFromObject(site), service))
	equal(t, "the address", site.Status.Address, service.Spec.ClusterIP)

	// One of its pods goes, and there is no node for another one until the node may be used again.
	c.WaitFor(t, site, fakecluster.HasCondition(website.Available))
	node, err := w.Node("n1")
	must(t, err)
	must(t, node.Cordon(t.Context()))
	pods := &corev1.PodList{}
	must(t, cl.List(t.Context(), pods, client.InNamespace(site.Namespace)))
	must(t, cl.Delete(t.Context(), &pods.Items[0]))
	c.WaitFor(t, site, fakecluster.HasCondition(website.Available, metav1.ConditionFalse))
	must(t, node.Uncordon(t.Context()))
	c.WaitFor(t, site, fakecluster.HasCondition(website.Available))
	must(t, c.Settle(t.Context())) // events come after the status
	events := &eventsv1.EventList{}
	must(t, cl.List(t.Context(), events, client.InNamespace(site.Namespace)))
	var warnings []string
	for _, event := range events.Items {
		if event.Type == corev1.EventTypeWarning && event.Regarding.Kind == "Website" {
			warnings = append(warnings, event.Regarding.Name+": "+event.Note)
		}
	}
	equal(t, "the warnings", warnings, []string{"home: 1 of 2 pods serve the page"})

	must(t, cl.Delete(t.Context(), site))
	c.WaitFor(t, site, fakecluster.Gone())
	equal(t, "the hosts that are registered", len(hosts.owners), 0)
	for _, child := range []client.Object{page, named(&appsv1.Deployment{}), service} {
		c.WaitFor(t, child, fakecluster.Gone()) // the garbage collector deletes what the Website owned
	}
	c.CheckRole(t, "system:serviceaccount:system:website-operator", "config/rbac")
	c.CheckUnusedRules(t, "system:serviceaccount:system:website-operator", "config/rbac")
}
