package remote

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fakecluster/fakecluster/examples/website"
	"github.com/fakecluster/fakecluster/remote"
	"github.com/fakecluster/fakecluster/remote/explore"
)

// The operator is explored without a test for each case.
func TestExploreTheOperator(t *testing.T) {
	explore.Operator(t, explore.Subject{
		Install: []string{"../website/config/crd", "../website/config/rbac"},
		Roles:   []string{"../website/config/rbac"}, // the operator runs as the service account that they bind
		Seeds:   []string{"../website/testdata/seeds/website.yaml"},
		Trials:  60, // -explore.time=10m runs more
		Run: func(ctx context.Context, c *remote.Cluster) error {
			return runOperator(ctx, &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}, website.Operator{Registry: &hosts{}})
		},
	})
}

// A test of the operator is tried again and again, each time with a fault at another place.
func TestTheOperatorWhateverGoesWrong(t *testing.T) {
	explore.Run(t, func(t testing.TB, c *explore.Cluster) {
		c.Control("operator", c.Config(), func(ctx context.Context, c *remote.Cluster) error { // until its context ends, and again after a stop
			return runOperator(ctx, &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}, website.Operator{Registry: &hosts{}})
		})
		cl, err := client.New(&rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}, client.Options{Scheme: website.NewScheme()})
		if err != nil {
			t.Fatal(err)
		}
		site := &website.Website{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "home"}, Spec: website.WebsiteSpec{Host: "www.example.com", Image: "nginx", Replicas: 2}}
		if err := cl.Create(t.Context(), site); err != nil {
			t.Fatal(err)
		}
		c.Wait(time.Minute) // of virtual time
		if err := cl.Get(t.Context(), client.ObjectKeyFromObject(site), site); err != nil || !meta.IsStatusConditionTrue(site.Status.Conditions, website.Registered) {
			t.Errorf("the Website is not registered: %v, %v", site.Status, err)
		}
	}, explore.With(remote.CRDPaths("../website/config/crd")))
}
