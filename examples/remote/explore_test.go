package remote

import (
	"context"
	"testing"

	"k8s.io/client-go/rest"

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
