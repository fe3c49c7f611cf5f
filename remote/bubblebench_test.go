//go:build go1.25

package remote

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// Package testing makes bubbles in tests only, so that a benchmark cannot measure them.
var costs = flag.Bool("costs", false, "measure what clusters in bubbles cost")

func TestCostsInABubble(t *testing.T) {
	if !*costs {
		t.Skip("write -costs to measure")
	}
	now := outsideClock(t)
	measure := func(what string, n int, do func(i int)) {
		do(-1)
		began := now()
		for i := range n {
			do(i)
		}
		t.Logf("%s: %v", what, (now()-began).Round(100*time.Nanosecond)/time.Duration(n))
	}
	base := Start(t)
	measure("a bubble", 100, func(int) { synctest.Test(t, func(*testing.T) {}) })
	measure("a bubble with a cluster", 50, func(int) { synctest.Test(t, func(t *testing.T) { Start(t) }) })
	measure("a bubble with a fork", 50, func(int) { synctest.Test(t, func(t *testing.T) { base.Fork(t) }) })
	synctest.Test(t, func(t *testing.T) {
		u := admin(t, Start(t))
		u.must("POST", maps, configMap("a"))
		measure("a get", 2000, func(int) { u.must("GET", maps+"/a", "") })
		measure("a create", 1000, func(i int) { u.must("POST", maps, configMap(fmt.Sprint("b", i))) })
		measure("an idle virtual hour", 1, func(int) { time.Sleep(time.Hour) })
		measure("an idle virtual day", 1, func(int) { time.Sleep(24 * time.Hour) })
	})
	synctest.Test(t, func(t *testing.T) {
		_, u := hook(t, denial(func(*http.Request, string) string { return "" }))
		measure("a create with a webhook of the test", 1000, func(i int) { u.must("POST", maps, configMap(fmt.Sprint("b", i))) })
	})
	synctest.Test(t, func(t *testing.T) {
		c := Start(t, Workloads(`{"nodes": 1}`), Image("wait", func(ctx context.Context, p *Container) error {
			<-ctx.Done()
			return nil
		}))
		u := admin(t, c)
		u.must("POST", pods, pod("wait", "wait", "", ""))
		c.WaitFor(t, Named("v1", "Pod", "", "wait"), phase("Running"))
		measure("an idle virtual hour of a container of the test", 2, func(int) { time.Sleep(time.Hour) })
	})
	synctest.Test(t, func(t *testing.T) {
		Start(t, Workloads(`{"nodes": 3}`))
		measure("an idle virtual hour of 3 Nodes", 1, func(int) { time.Sleep(time.Hour) })
		measure("an idle virtual day of 3 Nodes", 1, func(int) { time.Sleep(24 * time.Hour) })
	})
}

// outsideClock returns a clock of the real time that a bubble can read.
func outsideClock(t *testing.T) func() time.Duration {
	ask, answers := make(chan struct{}), make(chan time.Duration)
	began := time.Now()
	go func() {
		for range ask {
			answers <- time.Since(began)
		}
	}()
	t.Cleanup(func() { close(ask) })
	return func() time.Duration { ask <- struct{}{}; return <-answers }
}
