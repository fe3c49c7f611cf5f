package workloads_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/workloads"
)

// A process with many tests keeps no clusters whose tests have ended, except one: upstream's volume controllers register collectors of metrics once in a
// process, with the informers of that cluster.
func TestEndedClustersAreFreed(t *testing.T) {
	base := fakecluster.Start(t, fakecluster.InProcess())
	var clusters []weak.Pointer[fakecluster.Cluster]
	for range 5 {
		synctest.Test(t, func(t *testing.T) {
			c := base.Fork(t)
			workloads.Run(t, c, workloads.Nodes(1))
			clusters = append(clusters, weak.Make(c))
		})
	}
	for range 10 {
		bubble.Check() // forgets bubbles that have ended some checks ago
	}
	for range 3 { // a sync.Pool keeps its objects for two collections
		runtime.GC()
	}
	kept := 0
	for _, c := range clusters {
		if c.Value() != nil {
			kept++
		}
	}
	if kept > 1 {
		t.Errorf("%d of %d clusters are still there", kept, len(clusters))
	}
}
