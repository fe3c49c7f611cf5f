package explore_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// A job that makes two ConfigMaps has to make the second one even if it is stopped in between.
func ExampleRun() {
	_ = func(t *testing.T) {
		explore.Run(t, func(t testing.TB, c *explore.Cluster) {
			c.Control("job", c.RESTConfig(), func(ctx context.Context, config *rest.Config) error {
				configMaps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
				for ctx.Err() == nil {
					for _, name := range []string{"first", "second"} {
						_, _ = configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
					}
					select {
					case <-time.After(time.Second):
					case <-ctx.Done():
					}
				}
				return nil
			})
			c.Wait(time.Minute)
			made, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
			if err != nil || len(made.Items) != 2 {
				t.Errorf("ConfigMaps: %d, error: %v", len(made.Items), err)
			}
		})
	}
}

// A report ends with the line that runs the schedule again.
func ExampleReplay() {
	var body explore.Body
	_ = func(t *testing.T) {
		explore.Run(t, body, explore.Replay("TestWebsites: crash-after operator create deployments.apps default/home 1"))
	}
}

// An operator is explored without a test of its own.
func ExampleOperator() {
	operate := func(ctx context.Context, config *rest.Config) error {
		<-ctx.Done() // run the operator until then
		return nil
	}
	_ = func(t *testing.T) {
		explore.Operator(t, explore.Subject{
			Install: []string{"config/crd", "config/rbac"},
			Roles:   []string{"config/rbac"},
			Seeds:   []string{"config/samples"},
			Run:     operate,
			Ignore:  []string{"websites.example.com /status/restarts"},
			Invariants: []explore.Invariant{
				explore.Always("a page has pods", "deployments.apps", fakecluster.CEL("object.spec.replicas >= 1")),
			},
		})
	}
}

// The new version of an operator gets the objects that the old one has made.
func ExampleUpgrade() {
	version := func(folder string, operate func(context.Context, *rest.Config) error) explore.Subject {
		return explore.Subject{
			Install: []string{folder + "/crd", folder + "/rbac"},
			Seeds:   []string{folder + "/samples"},
			Run:     operate,
			Ignore:  []string{"deployments.apps /spec/template/spec/containers/*/image"}, // it is to change
		}
	}
	operate := func(ctx context.Context, config *rest.Config) error {
		<-ctx.Done() // run the operator until then
		return nil
	}
	_ = func(t *testing.T) {
		explore.Upgrade(t, version("internal/previous/config", operate), version("config", operate))
	}
}
