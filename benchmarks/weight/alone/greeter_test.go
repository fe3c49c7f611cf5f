package greeter_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fakecluster/fakecluster/benchmarks/weight/greeter"
)

func TestGreeter(t *testing.T) {
	c := fake.NewFakeClient()
	key := client.ObjectKey{Name: "team"}
	if _, err := (&greeter.Greeter{Client: c}).Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	var greeting corev1.ConfigMap
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "greeting"}, &greeting); err != nil {
		t.Fatal(err)
	}
	if got := greeting.Data["text"]; got != "hello team" {
		t.Errorf("the greeting is %q", got)
	}
}
