package benchmarks

import (
	"context"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimefake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// reconciled are the peers that a controller can be tested with, by name. Each starts
// with the definition of a kind, until the test ends.
var reconciled = []struct {
	name  string
	start func(testing.TB, kind) client.Client
}{
	{"fakecluster", func(t testing.TB, k kind) client.Client { return clusterClient(t, k) }},
	{"fakecluster-in-process", func(t testing.TB, k kind) client.Client { return clusterClient(t, k, fakecluster.InProcess()) }},
	{"controller-runtime-fake", func(t testing.TB, k kind) client.Client {
		s := runtime.NewScheme()
		check(t, clientgoscheme.AddToScheme(s))
		u := k.object("any")
		s.AddKnownTypeWithName(u.GroupVersionKind(), u)
		return runtimefake.NewClientBuilder().WithScheme(s).WithStatusSubresource(u).Build()
	}},
	{"envtest", func(t testing.TB, k kind) client.Client {
		if os.Getenv("KUBEBUILDER_ASSETS") == "" {
			t.Skip("KUBEBUILDER_ASSETS names no folder with its binaries")
		}
		var crd apiextensionsv1.CustomResourceDefinition
		check(t, runtime.DefaultUnstructuredConverter.FromUnstructured(k.definition.Object, &crd))
		e := &envtest.Environment{CRDs: []*apiextensionsv1.CustomResourceDefinition{&crd}}
		config, err := e.Start()
		check(t, err)
		t.Cleanup(func() { _ = e.Stop() })
		config.QPS = -1
		c, err := client.New(config, client.Options{})
		check(t, err)
		return c
	}},
}

func clusterClient(t testing.TB, k kind, options ...fakecluster.Option) client.Client {
	t.Helper()
	cluster := fakecluster.Start(t, append(options, fakecluster.WithObjects(k.definition))...)
	c, err := client.New(cluster.RESTConfig(), client.Options{})
	check(t, err)
	return c
}

// startReconciled creates the Certificate, and lets the controller see it once, so that
// its ConfigMap is there.
func startReconciled(t testing.TB, start func(testing.TB, kind) client.Client) (client.Client, kind) {
	t.Helper()
	k := loadKind(t, "Certificate")
	c := start(t, k)
	check(t, c.Create(t.Context(), k.object(nameOf(1)), client.FieldOwner(user)))
	check(t, reconcile(t.Context(), c, k, 1_000_000))
	return c, k
}

// reconcile is the nth pass of a controller: it gets the object, applies the ConfigMap
// that the object owns, and updates the status.
func reconcile(ctx context.Context, c client.Client, k kind, n int) error {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(k.object("any").GroupVersionKind())
	key := client.ObjectKey{Namespace: "default", Name: nameOf(1)}
	if err := c.Get(ctx, key, u); err != nil {
		return err
	}
	owner := applymetav1.OwnerReference().WithAPIVersion(u.GetAPIVersion()).WithKind(u.GetKind()).
		WithName(u.GetName()).WithUID(u.GetUID()).WithController(true)
	config := applycorev1.ConfigMap(u.GetName(), u.GetNamespace()).WithOwnerReferences(owner).
		WithLabels(map[string]string{"app.kubernetes.io/managed-by": controller}).
		WithData(map[string]string{"revision": strconv.Itoa(n), "issuer": "letsencrypt-production"})
	if err := c.Apply(ctx, config, client.FieldOwner(controller), client.ForceOwnership); err != nil {
		return err
	}
	return c.Status().Update(ctx, k.withNextStatus(u, n), client.FieldOwner(controller))
}

// BenchmarkReconcile is one pass of a controller over an object that it has seen before.
// Each pass changes the ConfigMap and the status. ns/op is the median of the passes.
func BenchmarkReconcile(b *testing.B) {
	for _, p := range reconciled {
		b.Run(p.name, func(b *testing.B) {
			c, k := startReconciled(b, p.start)
			var took []time.Duration
			for n := 1_000_001; b.Loop(); n++ {
				start := time.Now()
				check(b, reconcile(b.Context(), c, k, n))
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2]), "ns/op")
		})
	}
}

// A pass does the same at each peer.
func TestReconcileDoesWhatIsMeasured(t *testing.T) {
	for _, p := range reconciled {
		t.Run(p.name, func(t *testing.T) {
			c, k := startReconciled(t, p.start)
			check(t, reconcile(t.Context(), c, k, 1_000_001))
			key := client.ObjectKey{Namespace: "default", Name: nameOf(1)}
			var config corev1.ConfigMap
			check(t, c.Get(t.Context(), key, &config))
			u := k.object("any")
			check(t, c.Get(t.Context(), key, u))
			if got := config.Data["revision"]; got != "1000001" {
				t.Errorf("the ConfigMap has revision %q", got)
			}
			if len(config.OwnerReferences) != 1 || config.OwnerReferences[0].UID != u.GetUID() {
				t.Errorf("the ConfigMap has the owners %v, and the Certificate the uid %s", config.OwnerReferences, u.GetUID())
			}
			if n, _, err := unstructured.NestedInt64(u.Object, "status", "revision"); n != 1_000_001 {
				t.Errorf("the status has revision %d, %v", n, err)
			}
			if got := u.GetFinalizers(); len(got) != 1 {
				t.Errorf("the Certificate has the finalizers %v", got)
			}
		})
	}
}
