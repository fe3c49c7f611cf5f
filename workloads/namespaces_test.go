package workloads_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

const namespaceApp = "apiVersion: v1\nkind: Namespace\nmetadata: {name: app}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: cfg, namespace: app}"

// TestANamespaceEndsAfterItsGrace proves that what "kubectl delete -f" of a file with its Namespace at the top needs holds: the
// objects are there for five seconds.
func TestANamespaceEndsAfterItsGrace(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(namespaceApp)
		if err := w.client.CoreV1().Namespaces().Delete(w.Context(), "app", metav1.DeleteOptions{}); err != nil {
			w.Fatal(err)
		}
		w.pass(4 * time.Second)
		ns := w.object("namespaces", "app")
		w.check("the phase", field(ns, "status.phase"), "Terminating")
		w.check("the conditions", field(ns, "status.conditions"), "")
		if _, err := w.client.CoreV1().ConfigMaps("app").Get(w.Context(), "cfg", metav1.GetOptions{}); err != nil {
			w.Error(err)
		}
		_, err := w.client.CoreV1().Namespaces().Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "app"}}, metav1.CreateOptions{})
		w.check("the answer to another create", err.Error(), `object is being deleted: namespaces "app" already exists`)
		w.pass(time.Second)
		if w.find("namespaces", "app") != nil {
			w.Error("the namespace is still there")
		}
	})
}

// TestANamespaceHangsWithoutAnAggregatedAPI proves that a namespace cannot end while an API server that could have objects in it
// does not answer, and ends when its APIService is gone.
func TestANamespaceHangsWithoutAnAggregatedAPI(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(`
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.metrics.example.com}
spec: {group: metrics.example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 10, service: {namespace: default, name: web}, insecureSkipTLSVerify: true}
---
` + namespaceApp)
		w.delete("namespaces", "app")
		w.pass(time.Hour)
		w.check("the condition", condition(w.object("namespaces", "app"), "NamespaceDeletionDiscoveryFailure"), "True DiscoveryFailed")
		if _, err := w.client.CoreV1().ConfigMaps("app").Get(w.Context(), "cfg", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			w.Errorf("the content that can be discovered is still there: %v", err)
		}
		w.delete("apiservices", "v1.metrics.example.com")
		w.pass(time.Minute)
		if w.find("namespaces", "app") != nil {
			w.Error("the namespace is still there")
		}
	})
}

// TestNamespacesEndAtOnceWithoutTheController proves that without upstream's controller namespaces end within the write, as in a
// cluster in which nothing lives, in a fork, and after Close.
func TestNamespacesEndAtOnceWithoutTheController(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(namespaceApp)
		w.delete("namespaces", "app")
		if w.find("namespaces", "app") != nil {
			w.Error("the namespace is still there")
		}
	}, workloads.Controllers("*", "-namespace-controller"))

	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		living, err := workloads.New(c)
		if err != nil {
			t.Fatal(err)
		}
		namespaces := func(c *fakecluster.Cluster) error {
			_, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Namespaces().Get(t.Context(), "app", metav1.GetOptions{})
			return err
		}
		w := world{t, living, c, kubernetes.NewForConfigOrDie(c.RESTConfig())}
		w.create(namespaceApp)
		if err := w.client.CoreV1().Namespaces().Delete(t.Context(), "app", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := namespaces(c.Fork(t)); !apierrors.IsNotFound(err) {
			t.Errorf("the namespace is in the fork: %v", err)
		}
		if err := namespaces(c); err != nil {
			t.Error(err)
		}
		if err := living.Close(); err != nil {
			t.Fatal(err)
		}
		if err := namespaces(c); !apierrors.IsNotFound(err) {
			t.Errorf("the namespace is still there after Close: %v", err)
		}
	})
}
