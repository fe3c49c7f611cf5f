package explore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/callers"
	"github.com/fakecluster/fakecluster/internal/place"
)

const (
	// restartAfter is the time from the crash of a controller until it is started again.
	restartAfter = time.Second
	// stopWithin is how long a controller may take to stop.
	stopWithin = 10 * time.Minute
	// lateBy is how much later the events of a late watch come.
	lateBy = 30 * time.Second
)

// Cluster is the cluster of one run, in process and in a testing/synctest bubble.
type Cluster struct {
	*fakecluster.Cluster
	run *run
	t   testing.TB
}

// run is one run of a body.
type run struct {
	cluster *fakecluster.Cluster
	t       *recorder
	points  map[occurrence]point // the faults
	order   *rand.Rand           // orders the events; nil: events keep their order
	hold    faults.Hold          // nil: events are not held back
	// delivering ends when released is closed; nil: without a hold.
	released   chan struct{}
	delivering sync.WaitGroup
	probes     bool       // reads are repeated, with answers from the past
	anyRead    bool       // reads without a resourceVersion may be stale
	stacks     bool       // the callers of each write are recorded
	pace       *pace      // limits the rate of requests; nil: no limit
	user       *meanwhile // steps of the user while the operator works; nil: none
	realTime   bool       // the run is not in a bubble

	// there is where the body and its controllers run; nil: that is this process, or the run is the trial of an operator.
	there place.Trial
	// panic ends the process of the test with a text; nil: the run is the trial of an operator.
	panic func(text string)

	earlier int // requests of controllers in the clusters from which this one continues

	still chan bubble.Blocked // a goroutine that waits for something outside of the bubble
	// endless gets the reason why the trial of an operator does not end; nil: the run is not a trial.
	endless chan problem

	mu          sync.Mutex
	bubble      string // its name; empty: none
	counts      map[request]int
	seen        []*sentRequest // requests of controllers, in their order
	reached     map[occurrence]bool
	controllers []*controller
	stopping    bool
	restarts    sync.WaitGroup
	listed      map[string]inspect.Request // by their audit IDs, at the end
}

// occurrence is a request and its number among equal requests, from 1.
type occurrence struct {
	request
	nth int
}

// sentRequest is a request that a controller has sent in a run.
type sentRequest struct {
	occurrence
	time    time.Time
	auditID string // the header Audit-ID, which identifies this request in the history of the cluster
	dryRun  bool
	lag     int       // the number of revisions after which a stale answer differs; 0: none does
	callers []uintptr // the callers of the request, if the run records them
	code    string    // the line of code that sent it, if that is in another process
	// written is the object of a write about which the server warns, or that has a status, which the server
	// may drop.
	written map[string]any
}

// Control runs a controller until the end of the body. It calls start on a goroutine of its own, with the
// configuration that the controller's clients must use, and start runs the controller until the context ends.
// start may return earlier, if everything that it has started ends with the context. Control calls it again
// after each crash of the schedule, so it must begin from nothing, as a new process does. If start returns an
// error before its context ends, or panics, the run fails.
//
// config is a configuration of the cluster for a user, such as c.RESTConfig() or
// c.ServiceAccountConfig(namespace, name). name becomes the user agent of its clients: one word without
// spaces and slashes, which no other controller of the body has. A wrong argument fails the run with t.Fatal.
func (c *Cluster) Control(name string, config *rest.Config, start func(ctx context.Context, config *rest.Config) error) {
	if name == "" || strings.ContainsAny(name, " ;/\t\n") {
		c.t.Fatalf("explore: %q cannot be the name of a controller: use one word without a slash", name)
	}
	if config == nil {
		c.t.Fatalf("explore: the configuration of the controller %s is nil: give c.RESTConfig(), or that of its service account", name)
	}
	if start == nil {
		c.t.Fatalf("explore: the function of the controller %s is nil: give a func(ctx context.Context, config *rest.Config) error that runs it until ctx ends", name)
	}
	ctl := &controller{run: c.run, name: name, config: config, start: start}
	c.run.mu.Lock()
	for _, other := range c.run.controllers {
		if other.name == name {
			c.run.mu.Unlock()
			c.t.Fatalf("explore: there are two controllers called %s: give each a name of its own", name)
		}
	}
	c.run.controllers = append(c.run.controllers, ctl)
	c.run.mu.Unlock()
	ctl.begin()
}

// Wait lets virtual time pass, so that the controllers do their work. Then it waits until every goroutine of
// the bubble is blocked, and every watch has delivered all its events. A minute is enough for a controller
// that retries with exponential back-off, and for late events.
//
// A body may also wait by Settle, a watch or a poll of its own. With synctest.Wait alone no time
// passes, and in the runs that reorder events none is delivered. In these runs the body cannot use
// Hold itself; Orders(0) leaves them out.
func (c *Cluster) Wait(d time.Duration) {
	for c.run.pass(d); c.run.hold != nil && len(c.run.hold.Pending()) > 0; {
		c.run.pass(oneDelivery)
	}
}

// pass lets time pass, also where the body runs, and waits until every goroutine is blocked.
func (r *run) pass(d time.Duration) {
	if r.there != nil {
		r.there.Pass(d, false)
		return
	}
	time.Sleep(d)
	synctest.Wait()
}

// sleep sleeps, and wakes up on time although the body runs elsewhere.
func (r *run) sleep(d time.Duration) {
	if r.there != nil {
		r.there.Expect(d, false)
	}
	time.Sleep(d)
}

// oneDelivery is the pause between two deliveries. In a bubble, it passes when all goroutines are blocked.
const oneDelivery = time.Nanosecond

// deliver delivers events in the order of the run, until the hold is released. It delivers one at a time,
// when all goroutines are blocked after the last one.
func (r *run) deliver(released <-chan struct{}) {
	for {
		select {
		case <-r.hold.More():
		case <-released:
			return
		}
		for r.sleep(oneDelivery); r.deliverOne(); {
			r.sleep(oneDelivery)
		}
	}
}

// deliverOne delivers the next event of one of the watches, which the order of the run selects.
func (r *run) deliverOne() bool {
	var first []faults.Delivery
	listed := map[int64]bool{}
	for _, d := range r.hold.Pending() {
		if !listed[d.Watch] {
			listed[d.Watch] = true
			first = append(first, d)
		}
	}
	if len(first) == 0 {
		return false
	}
	r.hold.DeliverThese(first[r.order.IntN(len(first))])
	return true
}

// controller is a controller that the body runs by Control.
type controller struct {
	run    *run
	name   string
	config *rest.Config
	start  func(context.Context, *rest.Config) error

	instance *instance // guarded by run.mu
}

// instance is a controller from its start to its end.
type instance struct {
	controller *controller
	ctx        context.Context
	end        context.CancelFunc
	began      time.Time
	dead       atomic.Bool
	done       chan struct{}
}

// begin starts the controller.
func (c *controller) begin() {
	l := &instance{controller: c, began: time.Now(), done: make(chan struct{})}
	l.ctx, l.end = context.WithCancel(c.run.cluster.ControllerContext(context.Background()))
	config := rest.CopyConfig(c.config)
	config.UserAgent = c.name
	config.Wrap(l.wrap)
	c.run.mu.Lock()
	stopping := c.run.stopping
	c.instance = l
	c.run.mu.Unlock()
	if stopping {
		l.end()
		close(l.done)
		return
	}
	go func() {
		defer close(l.done)
		defer func() {
			if p := recover(); p != nil {
				c.run.t.Errorf("the controller %s has panicked: %v\n%s", c.name, p, debug.Stack())
			}
		}()
		if err := c.start(l.ctx, config); err != nil && l.ctx.Err() == nil && !l.dead.Load() {
			c.run.t.Errorf("the controller %s has returned an error: %v", c.name, err)
		}
	}()
}

// crash ends the instance at once: none of its later requests reaches the server. Then it starts the
// controller again.
func (l *instance) crash() {
	if !l.dead.CompareAndSwap(false, true) {
		return
	}
	l.controller.run.restarts.Go(func() {
		l.stop()
		l.controller.run.sleep(restartAfter)
		l.controller.begin()
	})
	if !l.starting() {
		l.end()
	}
}

// death returns the error of the requests of an instance that has crashed, as soon as its context has ended.
func (l *instance) death() error {
	<-l.ctx.Done()
	return errDead
}

// startsWithin is how long a controller may take until its caches have synced.
const startsWithin = time.Second

// starting reports whether the caches of the controller may still be syncing. A manager of controller-runtime whose context ends then
// never ends, and keeps a processor busy (kubernetes-sigs/controller-runtime#3440).
func (l *instance) starting() bool {
	return !l.controller.run.realTime && time.Since(l.began) < startsWithin
}

// stop ends the context, once the controller has started, and waits until the controller has stopped.
func (l *instance) stop() {
	if l.starting() {
		select {
		case <-time.After(startsWithin - time.Since(l.began)):
		case <-l.done:
		}
	}
	l.end()
	within := stopWithin
	if l.controller.run.realTime {
		within = stopWithinInRealTime
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-l.done:
	case <-timer.C:
		l.controller.run.t.Errorf("the controller %s has not stopped %v after its context ended", l.controller.name, within)
		if !l.controller.run.realTime {
			l.awaitEnd() // a bubble cannot end before
		}
	}
}

// ignoredFor is how long a controller may continue after its context has ended, before it counts as endless.
const ignoredFor = 24 * time.Hour

// awaitEnd waits for a controller that has not stopped in time. A controller that never ends keeps its bubble
// forever. Then an exploration of an operator abandons the trial, and Run ends the process, because nothing
// else ends its test.
func (l *instance) awaitEnd() {
	timer := time.NewTimer(ignoredFor)
	defer timer.Stop()
	select {
	case <-l.done:
		return
	case <-timer.C:
	}
	what := fmt.Sprintf("the controller %s ignores its context: it has not stopped a day after that has ended, so the run cannot end. Return when ctx.Done() is closed, "+
		"and sleep with a timer beside it: select { case <-ctx.Done(): return nil; case <-time.After(pause): }", l.controller.name)
	r := l.controller.run
	if r.endless == nil {
		r.panic(what)
	} else {
		r.noteEndless(problem{oracle: Converges, key: "ignores its context", step: -1, stuck: true, what: what})
	}
	<-l.done
}

// end stops all controllers.
func (r *run) end() {
	r.mu.Lock()
	r.stopping = true
	controllers := r.controllers
	r.mu.Unlock()
	if r.hold != nil {
		close(r.released)
		r.delivering.Wait()
		r.hold.Release()
	}
	r.restarts.Wait()
	for _, c := range controllers {
		r.mu.Lock()
		l := c.instance
		r.mu.Unlock()
		l.stop()
	}
}

// observe counts a request of a controller, and returns the fault of the schedule that strikes it, if any. It
// completes sent, which gets an audit ID that identifies the request.
func (r *run) observe(sending request, sent sentRequest) (s *sentRequest, strike point, struck bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[sending]++
	s = &sent
	s.occurrence, s.time = occurrence{sending, r.counts[sending]}, time.Now()
	r.seen = append(r.seen, s)
	s.auditID = fmt.Sprintf("%s%d", auditIDs, r.earlier+len(r.seen))
	strike, struck = r.points[s.occurrence]
	if struck {
		r.reached[s.occurrence] = true
	}
	return s, strike, struck
}

// auditIDs is the prefix of the audit IDs of requests of controllers.
const auditIDs = "explore-"

// fromOperator reports whether a request with an audit ID was sent by a controller.
func fromOperator(auditID string) bool { return strings.HasPrefix(auditID, auditIDs) }

// line returns the line of code that has sent a request; empty: it is not known.
func (s *sentRequest) line() string {
	if s.code != "" || s.callers == nil {
		return s.code
	}
	return callers.Line(s.callers)
}
