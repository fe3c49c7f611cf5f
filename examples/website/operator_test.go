package website_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/examples/internal/program"
	"github.com/fakecluster/fakecluster/examples/website"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// TestMain discards what the libraries log: it is much, and no result.
func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	code := m.Run()
	program.End()
	os.Exit(code)
}

// scheme has the kinds of the operator and of its tests.
var scheme = website.NewScheme()

// image serves the page of a Website that names none.
const image = "registry.example.com/web:1.0"

// newSite returns a Website as its author writes it.
func newSite() *website.Website {
	return &website.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "home"},
		Spec:       website.WebsiteSpec{Host: "www.example.com", Page: "Welcome to {{.Host}}!"},
	}
}

// installed is what is in a cluster before the operator starts: its definition, its
// ServiceAccount and its role. The garbage collector acts, as in a real cluster.
func installed() []fakecluster.Option {
	return []fakecluster.Option{
		fakecluster.WithManifests("config/crd", "config/rbac"),
		fakecluster.WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "system"}}),
		fakecluster.WithScheme(scheme),
		fakecluster.WithControllers(append(fakecluster.DefaultControllers(), fakecluster.GarbageCollector)...),
	}
}

// newClient returns a client of the test, who is an administrator and reads from no cache.
func newClient(t *testing.T, c *fakecluster.Cluster) client.WithWatch {
	t.Helper()
	return controllerruntime.NewClient(t, c, scheme)
}

// run runs the operator, or a part of it, under the ServiceAccount that it has in production, until the
// test ends.
func run(t *testing.T, c *fakecluster.Cluster, setup func(ctrl.Manager) error) {
	t.Helper()
	controllerruntime.Run(t, c, setup,
		controllerruntime.WithConfig(c.ServiceAccountConfig("system", "website-operator")), controllerruntime.WithScheme(scheme))
}

// registry is a Registry in memory, which knows who has which host.
type registry struct {
	mu     sync.Mutex
	owners map[string]string
	calls  []string // in order
	broken error    // the answer to everything, unless nil
}

func (r *registry) Register(_ context.Context, host, address, owner string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, fmt.Sprintf("register %s for %s", host, address))
	if r.broken != nil {
		return r.broken
	}
	if has, taken := r.owners[host]; taken && has != owner {
		return fmt.Errorf("%s: %w", host, website.ErrTaken)
	}
	if r.owners == nil {
		r.owners = map[string]string{}
	}
	r.owners[host] = owner
	return nil
}

func (r *registry) Release(_ context.Context, host, owner string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, "release "+host)
	if r.broken != nil {
		return r.broken
	}
	if r.owners[host] == owner {
		delete(r.owners, host)
	}
	return nil
}

// fail has the registry answer everything with an error, or with nil work again.
func (r *registry) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = err
}

// count returns how many hosts are registered.
func (r *registry) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.owners)
}

// requests returns the calls since it was called last.
func (r *registry) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
