package fakecluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/printable"
)

// The mistakes of a test in a testing/synctest bubble, each with what to write instead.
var (
	errSocketInBubble = errors.New("a cluster in a synctest bubble must be in process, because time stands still while a goroutine waits for a socket: " +
		"write fakecluster.Start(t, fakecluster.InProcess())")
	errForkInBubble = errors.New("the cluster has a socket, so its fork cannot run in a synctest bubble: " +
		"write base := fakecluster.Start(t, fakecluster.InProcess()) outside of the bubble, and base.Fork(t) inside")
	errUsedInBubble = errors.New("the cluster was started outside of the synctest bubble that uses it: " +
		"write c := base.Fork(t) in the bubble, where base is a cluster with InProcess(), and use the clients of c")
	errUsedOutside = errors.New("the cluster was started in a synctest bubble and is used outside of it: " +
		"use the cluster in the function of synctest.Test, or start it with InProcess() outside and write c := base.Fork(t) in the bubble")
	errOuterTest = errors.New("t is the test outside of the synctest bubble: " +
		"write synctest.Test(t, func(t *testing.T) { … }), and use the t of that function")
	errOuterContext = errors.New("the request has the context of a test outside of the synctest bubble: " +
		"use t.Context() with the t of the function of synctest.Test")
	errKubeconfigInBubble = errors.New("a cluster in a synctest bubble has no socket for other processes: call Kubeconfig for a cluster that was started outside of bubbles")
)

// home is the place of a cluster: a bubble, or outside of bubbles. A request from the other side would hang
// the test, or end the process with "close of synctest channel from outside bubble".
type home struct {
	inBubble bool
	mistake  sync.Once
	stop     func() // ends the check of the bubble
	events   eventNames
	requests atomic.Int64 // requests that countWork counts
	writes   atomic.Int64 // the writes among them
	looks    atomic.Int64 // how often lookAtWork found that the last request is not long ago
	held     atomic.Int64 // watch events that were held back when lookAtWork last ran
	counts   *standstill

	// State of lookAtWork: the number of requests when it last ran, and when that number last changed.
	seen      int64
	idleSince time.Time

	// testEnds is the Done channel of the test's context; nil in a bubble. It is created early, outside of
	// bubbles: a channel that a request in a bubble creates would end the process when the test closes it
	// outside.
	testEnds <-chan struct{}
	// outer has the Done channels of the tests outside of the bubble whose clusters this one is forked from.
	// There is no other way to recognize a context that was created outside.
	outer []<-chan struct{}
}

// outerContexts returns the Done channels of tests for a fork of c in a bubble.
func (c *Cluster) outerContexts() []<-chan struct{} {
	if c.home.testEnds == nil {
		return c.home.outer
	}
	return append(slices.Clip(c.home.outer), c.home.testEnds)
}

// checkTest ends the test if code in a bubble uses the t of the test outside. The Cleanup functions of that t
// run outside of the bubble, where they cannot end what waits inside.
func checkTest(t testing.TB) {
	t.Helper()
	if bubble.IsOuter(t) {
		t.Fatalf("fakecluster: %v", errOuterTest)
	}
}

// checkPlace returns an error if the caller is in a bubble and the cluster is not, or the reverse. The first
// such error also fails the test of the cluster, because controllers only log the errors of their requests.
func (c *Cluster) checkPlace() error {
	inside := bubble.Inside()
	if inside == c.home.inBubble {
		return nil
	}
	err := errUsedOutside
	if inside {
		err = errUsedInBubble
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.test == nil || c.closed { // a test that has ended can no longer fail
		return err
	}
	// Not c.TB: the mutexes and channels of the report belong to the other side, too.
	c.home.mistake.Do(func() { c.test.Errorf("fakecluster: %v", err) })
	return err
}

// checkContext returns an error for a context of a test outside of the cluster's bubble. The first such error
// also fails the test.
func (c *Cluster) checkContext(ctx context.Context) error {
	if !slices.Contains(c.home.outer, ctx.Done()) {
		return nil
	}
	c.home.mistake.Do(func() {
		if c.test != nil {
			c.test.Errorf("fakecluster: %v", errOuterContext)
		}
	})
	return errOuterContext
}

// atHome returns a transport that rejects requests from the other side of a bubble's border, and makes the
// names of Events in a bubble unique.
func (c *Cluster) atHome(next http.RoundTripper) http.RoundTripper {
	return &homeTransport{c, next, true}
}

type homeTransport struct {
	cluster *Cluster
	next    http.RoundTripper
	counts  bool // requests count as work: the clients are those of the test, not of package workloads, whose requests never end
}

// RoundTrip implements http.RoundTripper.
func (t *homeTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.cluster.checkPlace(); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, fmt.Errorf("fakecluster: %w", err)
	}
	if t.cluster.home.inBubble {
		if err := t.cluster.checkContext(req.Context()); err != nil {
			if req.Body != nil {
				_ = req.Body.Close()
			}
			return nil, fmt.Errorf("fakecluster: %w", err)
		}
		renamed, err := t.cluster.home.events.rename(req)
		if err != nil {
			return nil, fmt.Errorf("fakecluster: %w", err)
		}
		req = renamed
		if t.counts {
			t.cluster.countWork(req)
		}
	}
	return t.next.RoundTrip(req)
}

// WrappedRoundTripper implements RoundTripperWrapper of k8s.io/apimachinery.
func (t *homeTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// CloseIdleConnections is called by http.Client and client-go.
func (t *homeTransport) CloseIdleConnections() {
	if idle, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		idle.CloseIdleConnections()
	}
}

// testName is the name of the test of the cluster.
func (c *Cluster) testName() string {
	if c.test != nil {
		return c.test.Name()
	}
	return "fakecluster"
}

// watchBubble checks the cluster's bubble from outside until the cluster ends. If the time of the bubble
// stands still, or passes without end, no code in the bubble can report that. So watchBubble prints the
// reason and ends the process. A cluster with a socket is outside, and looks for its clients in all bubbles.
func (c *Cluster) watchBubble() {
	standsStill := func(b bubble.Blocked) {
		panic(fmt.Sprintf("%s: %s. The goroutine that waits:\n\n%s\n", c.testName(), b.Mistake(), b.Stack))
	}
	if !c.home.inBubble && !c.settings.inProcess {
		c.home.stop = bubble.WatchOthers(standsStill) // clients in bubbles may use the socket
		return
	}
	stopBlocked := bubble.Watch(c.store.Revision, standsStill)
	c.home.idleSince = time.Now()
	stopPassing := bubble.WatchPassing(heldTime, c.lookAtWork, c.work, func(idle time.Duration, stack string) {
		panic(fmt.Sprintf("%s: %s. The goroutine of the test:\n\n%s\n", c.testName(), c.passesWithoutEnd(idle, stack), stack))
	})
	stopRunning := bubble.WatchRunning(func(stack string, first bool) {
		if mistake := c.home.counts.found(); mistake != nil { // the test has failed, and does not end
			panic(fmt.Sprintf("%s: %v. The goroutine that runs:\n\n%s\n", c.testName(), mistake, stack))
		}
		if !first { // another cluster of the bubble may know more, or this one by now
			return
		}
		fmt.Fprintf(os.Stderr, "fakecluster: %s: %s. The goroutine that runs:\n\n%s\n\n", c.testName(), runsWithoutPause, stack)
	})
	c.home.stop = func() {
		stopBlocked()
		stopPassing()
		stopRunning()
	}
}

// runsWithoutPause is not a failure, because the goroutine may compute something.
const runsWithoutPause = "a goroutine in the synctest bubble has run for 20 seconds, and nothing was written meanwhile. If it loops until something comes: " +
	"write time.Sleep(time.Millisecond) in the loop, because time stands still while it runs, and end it with its context"

const (
	// idleTime is how long a bubble may go without a request of the test or its controllers before that is
	// reported as a mistake.
	idleTime = 72 * time.Hour
	// heldTime is the same limit while watch events are held back; deliveries and writes start it again.
	heldTime = time.Hour
)

// work returns a number that changes while the test makes progress. In a cluster with nodes and controllers
// it always changes, because their work never ends. If events are held back, only writes and deliveries
// change it: a test that waits for the effect of a held event reads again and again.
func (c *Cluster) work() int64 {
	switch {
	case c.home.held.Load() > 0:
		return c.home.writes.Load()
	case c.lives():
		return c.home.looks.Add(1)<<32 + c.home.requests.Load()
	}
	return c.home.looks.Load()<<32 + c.home.requests.Load()
}

// lookAtWork counts the watch events that are held back, and counts itself in looks until no request has come
// for idleTime. It runs in the bubble, because only code in it may read its events and its time.
func (c *Cluster) lookAtWork() {
	c.mu.Lock()
	hold := c.held
	c.mu.Unlock()
	if hold != nil {
		c.home.held.Store(int64(len(hold.Pending())))
	}
	if requests := c.home.requests.Load(); requests != c.home.seen {
		c.home.seen, c.home.idleSince = requests, time.Now()
	}
	if time.Since(c.home.idleSince) < idleTime {
		c.home.looks.Add(1)
	}
}

// passesWithoutEnd returns the message for a test that waits for something that never happens.
func (c *Cluster) passesWithoutEnd(idle time.Duration, stack string) string {
	const endless = "time in the synctest bubble passes without end: "
	if held := int(c.home.held.Load()); held > 0 {
		return fmt.Sprintf(endless+"%s have passed without a write of the test or its controllers, and c.Hold keeps back %s: deliver them, as with hold.Drain(10), or write defer hold.Release()",
			printable.Count(int(idle/time.Hour), "hour"), printable.Count(held, "watch event"))
	}
	text := fmt.Sprintf(endless+"%s have passed without a request of the test or its controllers, ", printable.Count(int((idleTime+idle)/(24*time.Hour)), "day"))
	if strings.Contains(stack, "net/http.(*Client)") {
		return text + "and an HTTP request of the test is not answered: give its client a Timeout"
	}
	return text + "and the test waits for something that does not come: give the loop an end, or write c.WaitFor in its place"
}

// countWork counts a request as progress of the test. It leaves out watches, which start again forever, and
// requests for Leases, which are renewed forever.
func (c *Cluster) countWork(req *http.Request) {
	if req.URL.Query().Get("watch") == "" && !strings.Contains(req.URL.Path, "/leases/") {
		c.home.requests.Add(1)
		if req.Method != http.MethodGet && req.Method != http.MethodHead {
			c.home.writes.Add(1)
		}
	}
}
