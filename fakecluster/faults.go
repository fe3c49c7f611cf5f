package fakecluster

import (
	"testing"

	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/server/console"
)

// Inject puts a fault in force, until Stop or the end of the cluster. A fork has none of the faults
// of its origin.
//
//	lost := c.Inject(faults.Fault{
//		Verb: "update", Resource: "crontabs.stable.example.com", Subresource: "status",
//		Times: 1, Effect: faults.CutAfterCommit(),
//	})
//
// In a cluster of [Start] or [Cluster.Fork], a fault that contradicts itself, or that names a
// resource, subresource or verb that the cluster does not serve, fails the test at once. At the end
// of the test, a fault that has never fired fails it, unless it is Optional. Call Inject from the
// goroutine of the test.
//
// In a cluster of [New] or [Cluster.NewFork], which have no test, Injection.Err returns the error,
// and [Cluster.Close] returns it again, together with those of faults that have never fired.
func (c *Cluster) Inject(f faults.Fault) faults.Injection {
	if c.test != nil {
		c.test.Helper()
	}
	i, err := console.Inject(c.server, f)
	if err != nil {
		c.blame(err)
		return notInjected{f, err}
	}
	return i
}

// notInjected is a fault that could not be injected.
type notInjected struct {
	fault faults.Fault
	err   error
}

func (n notInjected) Fault() faults.Fault { return n.fault }
func (n notInjected) Err() error          { return n.err }
func (n notInjected) Fired() int          { return 0 }
func (n notInjected) Stop()               {}

// Compact forgets the history up to now, as etcd does every five minutes on a real cluster: watches and lists
// at older revisions get 410. Watches that are running go on. It fails if the cluster is closed.
func (c *Cluster) Compact() error { return c.server.Faults.Compact() }

// Hold holds back the events of all watches, including watches that begin later, until the test delivers
// them. There is one Hold at a time: a second one fails the test, and in a cluster of [New] it is an error of
// Close. A fork begins without a Hold.
func (c *Cluster) Hold() faults.Hold {
	if c.test != nil {
		c.test.Helper()
	}
	h, err := console.Hold(c.server, func(err error) {
		if c.test != nil {
			c.test.Helper()
		}
		c.blame(err)
	})
	if err != nil {
		c.blame(err)
		return notHeld{}
	}
	c.mu.Lock()
	c.held = h
	c.mu.Unlock()
	return countedHold{h, &c.home}
}

// countedHold is a Hold whose deliveries count as progress of the test (see work in bubble.go).
type countedHold struct {
	faults.Hold
	home *home
}

func (h countedHold) count(delivered int) int {
	h.home.writes.Add(int64(delivered))
	return delivered
}

func (h countedHold) Deliver(n int) int { return h.count(h.Hold.Deliver(n)) }
func (h countedHold) DeliverThese(events ...faults.Delivery) int {
	return h.count(h.Hold.DeliverThese(events...))
}
func (h countedHold) DeliverKind(resource string) int { return h.count(h.Hold.DeliverKind(resource)) }
func (h countedHold) DeliverTo(userAgent string) int  { return h.count(h.Hold.DeliverTo(userAgent)) }
func (h countedHold) Tick() int                       { return h.count(h.Hold.Tick()) }
func (h countedHold) Drain(most int) int              { return h.count(h.Hold.Drain(most)) }
func (h countedHold) Release() {
	h.Hold.Release()
	h.home.held.Store(0)
}

// notHeld is a Hold that did not begin.
type notHeld struct{}

func (notHeld) Pending() []faults.Delivery          { return nil }
func (notHeld) More() <-chan struct{}               { return nil }
func (notHeld) Deliver(int) int                     { return 0 }
func (notHeld) DeliverThese(...faults.Delivery) int { return 0 }
func (notHeld) DeliverKind(string) int              { return 0 }
func (notHeld) DeliverTo(string) int                { return 0 }
func (notHeld) Tick() int                           { return 0 }
func (notHeld) Ticks() int                          { return 0 }
func (notHeld) Drain(int) int                       { return 0 }
func (notHeld) Release()                            {}

// blame fails the test of the cluster at once, or keeps an error for Close.
func (c *Cluster) blame(err error) {
	if c.test != nil {
		c.test.Helper()
		c.TB(c.test).Fatalf("fakecluster: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = append(c.wrong, err)
}

// unfired returns an error for each fault that has never fired and is not optional.
func (c *Cluster) unfired() []error { return console.UnfiredFaults(c.server) }

// reportUnfired fails a test for each fault that has never fired and is not optional.
func (c *Cluster) reportUnfired(t testing.TB) {
	for _, err := range c.unfired() {
		c.TB(t).Errorf("fakecluster: %v", err)
	}
}
