package managertest

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/remote"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// visitor counts its visits of a ConfigMap, one each hour.
type visitor struct {
	client.Client
	visits int
}

func (v *visitor) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var visited corev1.ConfigMap
	if err := v.Get(ctx, req.NamespacedName, &visited); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if visited.Name != "visited" {
		return reconcile.Result{}, nil
	}
	v.visits++
	visit := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, GenerateName: "visit-"}}
	return reconcile.Result{RequeueAfter: time.Hour}, v.Create(ctx, visit)
}

// operate runs a manager with a controller, and a webhook that denies a name, and reads with its client.
func operate(t *testing.T, c *remote.Cluster, v *visitor) client.Client {
	mgr := Run(t, c, ctrl.Options{}, func(mgr ctrl.Manager) error {
		v.Client = mgr.GetClient()
		mgr.GetWebhookServer().Register("/maps", &webhook.Admission{Handler: admission.HandlerFunc(func(ctx context.Context, req admission.Request) admission.Response {
			var others corev1.ConfigMapList
			if err := mgr.GetAPIReader().List(ctx, &others); err != nil { // a request while the webhook is called
				return admission.Errored(http.StatusInternalServerError, err)
			}
			if req.Name == "forbidden" {
				return admission.Denied("not this name")
			}
			return admission.Allowed("")
		})})
		return ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Complete(v)
	})
	return mgr.GetClient()
}

func started(t *testing.T) *remote.Cluster {
	path := filepath.Join(t.TempDir(), "webhooks.yaml")
	if err := os.WriteFile(path, []byte(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: maps}
webhooks:
- name: maps.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {namespace: system, name: webhooks, path: /maps}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	return remote.Start(t, remote.WebhookPaths(path))
}

// try checks that the webhook denies a name, and creates the object that the controller visits.
func try(t *testing.T, cl client.Client) {
	create := func(name string) error {
		return cl.Create(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
	}
	if err := create("forbidden"); err == nil || !strings.Contains(err.Error(), `admission webhook "maps.example.com" denied the request: not this name`) {
		t.Errorf("a forbidden name: %v", err)
	}
	if err := create("visited"); err != nil {
		t.Fatal(err)
	}
}

func TestInVirtualTime(t *testing.T) {
	for range 2 { // controllers may have the same name
		synctest.Test(t, func(t *testing.T) {
			c, v := started(t), &visitor{}
			try(t, operate(t, c, v))
			time.Sleep(8*time.Hour + time.Minute)
			synctest.Wait()
			if v.visits < 9 || v.visits > 11 { // after nine to eleven hours controller-runtime looks at all objects once more
				t.Errorf("%d visits in eight hours", v.visits)
			}
		})
	}
}

func TestInRealTime(t *testing.T) {
	c := started(t)
	cl := operate(t, c, &visitor{})
	try(t, cl)
	c.WaitFor(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "visited"}}, remote.CEL("true"))
	var visited corev1.ConfigMap
	for { // until the cache of the manager has it
		if err := cl.Get(context.Background(), types.NamespacedName{Namespace: "default", Name: "visited"}, &visited); err == nil {
			return
		}
	}
}
