package explore_test

import (
	"testing"

	"github.com/fakecluster/fakecluster/explore"
)

// An exploration of a night keeps thousands of outcomes. It has no memory for as many clusters.
func TestOutcomesKeepNoClusters(t *testing.T) {
	s := gadgetOperator{}.subject()
	s.Trials = 10
	if outcomes, kept := explore.ClustersKept(t, s); outcomes == 0 || kept > 0 {
		t.Errorf("of %d outcomes %d have a cluster", outcomes, kept)
	}
}
