package website_test

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fakecluster/fakecluster/examples/website"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// TestLifeOfAWebsite runs the whole operator as it is installed: over sockets, with its webhooks,
// under its role. Whatever the role does not allow fails a step, and whatever it allows without
// need fails CheckUnusedRules at the end.
func TestLifeOfAWebsite(t *testing.T) {
	c := fakecluster.Start(t, append(installed(t), fakecluster.WithWebhookPaths("config/webhook"))...)
	hosts := &registry{}
	operator := website.Operator{Image: image, Registry: hosts}
	mgr := newManager(t, c)
	must(t, operator.SetupController(mgr))
	must(t, operator.SetupWebhooks(mgr))
	run(t, mgr, mgr.GetWebhookServer())
	cl := newClient(t, c)

	site := newSite()
	must(t, cl.Create(t.Context(), site))
	equal(t, "the image, by the webhook", site.Spec.Image, image)
	equal(t, "the replicas, by the schema", site.Spec.Replicas, 2)

	until(t, cl, &website.WebsiteList{}, site, func(watch.EventType) bool {
		return meta.IsStatusConditionTrue(site.Status.Conditions, website.Registered)
	})
	equal(t, "the finalizer", controllerutil.ContainsFinalizer(site, website.Finalizer), true)
	page, service := &corev1.ConfigMap{}, &corev1.Service{}
	must(t, cl.Get(t.Context(), client.ObjectKeyFromObject(site), page))
	equal(t, "the page", page.Data["index.html"], "Welcome to www.example.com!")
	must(t, cl.Get(t.Context(), client.ObjectKeyFromObject(site), service))
	equal(t, "the address", site.Status.Address, service.Spec.ClusterIP)

	// No pods run in a test: it says how many there are.
	deployment := &appsv1.Deployment{}
	must(t, cl.Get(t.Context(), client.ObjectKeyFromObject(site), deployment))
	for _, serving := range []int32{2, 1, 2} {
		deployment.Status.Replicas, deployment.Status.ReadyReplicas, deployment.Status.AvailableReplicas = serving, serving, serving
		must(t, cl.Status().Update(t.Context(), deployment))
		until(t, cl, &website.WebsiteList{}, site, func(watch.EventType) bool {
			return meta.IsStatusConditionTrue(site.Status.Conditions, website.Available) == (serving == 2)
		})
	}
	event := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace}}
	until(t, cl, &eventsv1.EventList{}, event, func(watch.EventType) bool {
		return event.Regarding.Name == site.Name && event.Type == corev1.EventTypeWarning
	})
	equal(t, "the event", event.Note, "1 of 2 pods serve the page")

	must(t, cl.Delete(t.Context(), site))
	until(t, cl, &website.WebsiteList{}, site, func(event watch.EventType) bool { return event == watch.Deleted })
	equal(t, "the hosts that are registered", len(hosts.owners), 0)
	// The garbage collector deletes what the Website owned.
	for child, list := range map[client.Object]client.ObjectList{
		page: &corev1.ConfigMapList{}, deployment: &appsv1.DeploymentList{}, service: &corev1.ServiceList{},
	} {
		until(t, cl, list, child, func(event watch.EventType) bool { return event == watch.Deleted })
	}
	c.CheckRole(t, "system:serviceaccount:system:website-operator", "config/rbac")
	c.CheckUnusedRules(t, "system:serviceaccount:system:website-operator", "config/rbac")
}

// until watches an object until it is as wanted, and leaves in obj what it is then. It sees every
// change since the resourceVersion of obj, so that none is missed, or without one the object as
// it is now and every change from there on. An object without a name stands for all in its
// namespace.
func until(t *testing.T, cl client.WithWatch, list client.ObjectList, obj client.Object, is func(watch.EventType) bool) {
	t.Helper()
	raw := &metav1.ListOptions{ResourceVersion: obj.GetResourceVersion()}
	if obj.GetName() != "" {
		raw.FieldSelector = "metadata.name=" + obj.GetName()
	}
	w, err := cl.Watch(t.Context(), list, &client.ListOptions{Namespace: obj.GetNamespace(), Raw: raw})
	must(t, err)
	defer w.Stop()
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			t.Fatal(apierrors.FromObject(event.Object))
		}
		reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(event.Object).Elem())
		if is(event.Type) {
			return
		}
	}
	t.Fatalf("the watch ended before the %T was as wanted", obj)
}
