package website_test

import (
	"testing"

	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// TestExploreTheOperatorWithPods explores the operator where Kubernetes' controllers and a node write, too. A trial takes longer than one
// of TestExploreTheOperator, so that there are fewer of them: enough for those in which others change and occupy objects.
func TestExploreTheOperatorWithPods(t *testing.T) {
	s := subject(image)
	s.Trials = 80
	if testing.Short() {
		s.Trials = 10
	}
	s.Workloads = func(t testing.TB, c *fakecluster.Cluster) { workloads.Run(t, c, workloads.Nodes(1)) }
	explore.Operator(t, s)
}
