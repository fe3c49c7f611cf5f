package fakecluster_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

var manyDefinitions = flag.Int("definitions", 300, "how many definitions TestManyDefinitions makes in one cluster")

// What each of many different definitions holds in memory, and that Close gives back all that the
// cluster held: what is left is in the caches of the process, which a second cluster with the same
// definitions finds. How long the first and the last ones took is logged.
func TestManyDefinitions(t *testing.T) {
	if seedtest.RaceDetector {
		t.Skip("it measures memory, of which the race detector needs more, and does one thing after the other")
	}
	n := *manyDefinitions
	if os.Getenv("FAKECLUSTER_MEASURE") == "" {
		// The runtime removes stopped timers from its heaps when they are a quarter of a heap. Beside the timers of other tests,
		// those of a closed cluster's requests stay for up to a minute, and what they would have called with them.
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestManyDefinitions$", "-test.v", fmt.Sprintf("-definitions=%d", n))
		child.Env = append(os.Environ(), "FAKECLUSTER_MEASURE=yes")
		output, err := child.CombinedOutput()
		if t.Logf("%s", output); err != nil {
			t.Errorf("the process that measures: %v", err)
		}
		return
	}
	heap := func() float64 {
		for range 3 {
			// What a finalizer has to see first is freed by the collection after that.
			type sentinel struct{ _ [32]byte }
			finalized := make(chan struct{})
			runtime.SetFinalizer(&sentinel{}, func(*sentinel) { close(finalized) })
			runtime.GC()
			<-finalized
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	took := make([]time.Duration, n)
	// play makes all of them, and returns how large the heap is with the cluster.
	play := func() float64 {
		c, err := fakecluster.New(fakecluster.InProcess())
		must(t, err)
		for i := range n {
			crd := numbered(i)
			start := time.Now()
			define(t, c, crd)
			took[i] = time.Since(start)
		}
		with := heap()
		must(t, c.Close())
		return with
	}
	warm := fakecluster.Start(t, fakecluster.InProcess())
	define(t, warm, numbered(-1))
	must(t, warm.Close())

	empty := heap()
	each := (play() - empty) / float64(n)
	cached := heap()
	median := func(d []time.Duration) time.Duration { return slices.Sorted(slices.Values(d))[len(d)/2] }
	some := n / 4 // so many that a garbage collection, which is long when the heap is large, meets less than half
	first, last := median(took[:some]), median(took[n-some:])
	play()
	left := (heap() - cached) / float64(n)
	inCaches := (cached - empty) / float64(n)
	t.Logf("%d definitions: %.1f KB each, of which the caches of the process keep %.1f KB and nobody %.2f KB; creating one took %v at first and %v at last",
		n, each/1000, inCaches/1000, left/1000, first, last)
	if left > 2e3 {
		t.Errorf("a definition holds %.2f KB after Close, want at most 2", left/1000)
	}
	if n >= 2000 {
		if each > 100e3 {
			t.Errorf("a definition holds %.1f KB, want at most 100", each/1000)
		}
		return
	}
	// Of a few definitions the caches, which are bounded, keep the larger part: 82 KB, and the cluster 17 to 21.
	// What a run happens to allocate besides is far less than the distance to these limits.
	if own := each - inCaches; own > 30e3 || inCaches > 100e3 {
		t.Errorf("a definition holds %.1f KB in its cluster, want at most 30, and %.1f KB in the caches of the process, want at most 100", own/1000, inCaches/1000)
	}
}

// numbered is a definition like no other.
func numbered(i int) *apiextensionsv1.CustomResourceDefinition {
	crd := cronTabDefinition()
	name := fmt.Sprintf("kind%d", i+1)
	crd.Spec.Group = fmt.Sprintf("group%d.example.com", (i+1)%50)
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: name + "s", Singular: name, Kind: "K" + name}
	crd.Name = name + "s." + crd.Spec.Group
	properties := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	for f := range 20 {
		properties[fmt.Sprintf("field%d-%d", i+1, f)] = apiextensionsv1.JSONSchemaProps{Type: "string", Description: fmt.Sprint("what it is for ", i, f)}
	}
	return crd
}
