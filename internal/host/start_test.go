package host

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
)

// Workloads that never start, here because nobody may list Nodes, end with their cluster.
func TestTheEndOfAClusterEndsWorkloadsThatStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Options{})
		defer h.Close()
		made, err := fakecluster.New(fakecluster.InProcess())
		if err != nil {
			t.Fatal(err)
		}
		made.Inject(faults.Fault{Verb: "list", Resource: "nodes", Effect: faults.InternalError("")})
		c := newCluster(h, made)
		refused := make(chan error, 1)
		go func() { refused <- c.live(Living{Workloads: []byte(`{"nodes": 1}`)}) }()
		time.Sleep(time.Hour)
		c.end()
		if err := <-refused; err == nil || err.Error() != "the cluster is closed" {
			t.Errorf("workloads that start: %v", err)
		}
	})
}

// The end of a cluster waits for workloads that start, without a stop of time, also if the cluster ends twice. Workloads that would begin meanwhile are refused.
func TestTheEndOfAClusterWaitsForWorkloadsThatStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Options{})
		defer h.Close()
		made, err := fakecluster.New(fakecluster.InProcess())
		if err != nil {
			t.Fatal(err)
		}
		c := newCluster(h, made)
		started, err := c.beginLife()
		if err != nil {
			t.Fatal(err)
		}
		refused := func(want string) {
			t.Helper()
			if err := c.live(Living{Workloads: []byte(`{"nodes": 1}`)}); err == nil || err.Error() != want {
				t.Errorf("workloads: %v, want %s", err, want)
			}
		}
		refused("workloads already run in the cluster: end them first")
		var ended atomic.Int32
		for range 2 {
			go func() {
				c.end()
				ended.Add(1)
			}()
		}
		synctest.Wait()
		if n := ended.Load(); n != 0 {
			t.Errorf("%d ends do not wait", n)
		}
		refused("the cluster ends")
		c.mu.Lock()
		c.starting = nil
		c.mu.Unlock()
		close(started)
		c.end()
		synctest.Wait()
		if n := ended.Load(); n != 2 {
			t.Errorf("%d ends have returned, want 2", n)
		}
		refused("the cluster ends")
	})
}
