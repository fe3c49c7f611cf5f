package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/place"
)

// invariants make invariants by when they hold.
var invariants = map[string]func(name, resource string, condition fakecluster.Condition) explore.Invariant{
	"always": explore.Always, "never": explore.Never, "eventually": explore.Eventually,
}

// trial is a trial that is played in a bubble of the host, whose time is that of a bubble of the client, in which the operator runs.
type trial struct {
	exploration *exploration
	number      int
	stacks      chan []string // which the client sends when it is asked

	// These are set by Play.
	run     func(testing.TB)
	blocked func(stack, reason string)
	endless func(time.Duration)
	reports chan TrialReport // the last one

	opened atomic.Bool // the client has asked for the bubble
	played atomic.Bool // run has returned

	mu       sync.Mutex
	driver   *driver // of the bubble; nil: it is not open yet
	over     bool    // a bubble that opens now is too late
	clusters map[*fakecluster.Cluster]*cluster
	panics   []string
	playing  *playedRun // of a test; nil: none is running
}

// begin begins a trial.
func (x *exploration) begin() place.Trial {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begun++
	return &trial{exploration: x, number: x.begun, stacks: make(chan []string, 1), reports: make(chan TrialReport, 1), clusters: map[*fakecluster.Cluster]*cluster{}}
}

// Play implements place.Trial.
func (tr *trial) Play(run func(testing.TB), blocked func(stack, reason string), endless func(idle time.Duration)) (left []string, err error) {
	x := tr.exploration
	x.playing.Add(1)
	defer x.playing.Done()
	tr.run, tr.blocked, tr.endless = run, blocked, endless
	x.mu.Lock()
	x.trials[tr.number] = tr
	x.mu.Unlock()
	x.tell(ExplorationLine{Trial: tr.number})
	var report TrialReport
	select {
	case report = <-tr.reports:
	case <-x.ctx.Done():
		report.Failed = "the exploration has ended"
	}
	x.mu.Lock()
	delete(x.trials, tr.number)
	x.mu.Unlock()
	tr.mu.Lock()
	d := tr.driver
	tr.over = true
	tr.mu.Unlock()
	if d != nil {
		d.stop()
	}
	switch {
	case d != nil && d.err != nil && !tr.played.Load():
		return nil, d.err
	case report.Failed != "":
		return nil, errors.New(report.Failed)
	case !tr.played.Load():
		return nil, errors.New("the bubble of the trial has ended before the trial")
	}
	return report.Stacks, nil
}

// Pass implements place.Trial. The second step begins when nothing is left to do at the end of the first one: only then the time of the client's bubble passes.
func (tr *trial) Pass(duration time.Duration, idle bool) {
	for _, step := range []time.Duration{duration, time.Nanosecond} {
		tr.Expect(step, idle)
		time.Sleep(step)
	}
}

// Expect implements place.Trial.
func (tr *trial) Expect(d time.Duration, idle bool) { tr.driver.expect(time.Now().Add(d), idle) }

// stacksWithin is how long the client may take to tell the stacks of its goroutines.
const stacksWithin = 10 * time.Second

// Stacks implements place.Trial.
func (tr *trial) Stacks() []string {
	tr.exploration.tell(ExplorationLine{Stacks: tr.number})
	timer := time.NewTimer(stacksWithin)
	defer timer.Stop()
	select {
	case stacks := <-tr.stacks:
		return stacks
	case <-timer.C:
	case <-tr.exploration.ctx.Done():
	}
	return nil
}

// Panics implements place.Trial.
func (tr *trial) Panics() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	panics := tr.panics
	tr.panics = nil
	return panics
}

// openedBy says that a driver has opened the bubble, and reports whether the trial is still to be played.
func (tr *trial) openedBy(d *driver) bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.driver = d
	return !tr.over
}

// play plays the trial in the bubble, and returns what has to be called when the client has gone.
func (tr *trial) play() (cleanup func()) {
	t := &trialTest{explorer: explorer{exploration: tr.exploration, name: "trial " + strconv.Itoa(tr.number)}}
	var cancel context.CancelFunc
	t.ctx, cancel = context.WithCancel(context.Background())
	tr.driver.running.Go(func() {
		tr.run(t)
		tr.played.Store(true)
		tr.driver.endTrial()
	})
	return func() {
		cancel()
		t.end()
	}
}

// trialTest is the test of a trial in its bubble.
type trialTest struct {
	explorer
	mu       sync.Mutex
	cleanups []func()
}

func (t *trialTest) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

// end calls what the trial cleans up.
func (t *trialTest) end() {
	t.mu.Lock()
	cleanups := t.cleanups
	t.mu.Unlock()
	for _, f := range slices.Backward(cleanups) {
		f()
	}
}

// TrialReport is what a client reports of the bubble of a trial.
type TrialReport struct {
	Session string   `json:"session" doc:"the session of the exploration"`
	Blocked string   `json:"blocked,omitempty" doc:"the stack of a goroutine that waits for something outside of the bubble"`
	Reason  string   `json:"reason,omitempty" doc:"with blocked: a sentence that says why it waits, and what to write instead"`
	Endless int64    `json:"endless,omitempty" doc:"how many nanoseconds of the bubble have passed without a request"`
	Panic   string   `json:"panic,omitempty" doc:"a panic of the operator, from which a library has recovered, with its place"`
	Stacks  []string `json:"stacks,omitempty" doc:"the stacks of goroutines: of those of the bubble, if they are asked for, or with ended of those that are left"`
	Ended   bool     `json:"ended,omitempty" doc:"the bubble has ended"`
	Failed  string   `json:"failed,omitempty" doc:"with ended: why the trial could not be played"`
}

func reportTrial(c call, r TrialReport) (none, error) {
	if there := c.host.elsewhere(c.path("exploration")); there != nil {
		return none{}, there.passOn(c, r)
	}
	tr, err := c.trial(r.Session)
	if err != nil {
		return none{}, err
	}
	switch {
	case r.Ended:
		select {
		case tr.reports <- r:
		default: // it has ended before
		}
	case r.Panic != "":
		tr.mu.Lock()
		defer tr.mu.Unlock()
		tr.panics = append(tr.panics, r.Panic)
	case r.Blocked != "":
		tr.blocked(r.Blocked, r.Reason)
	case r.Endless != 0:
		tr.endless(time.Duration(r.Endless))
	default:
		select {
		case tr.stacks <- r.Stacks:
		default: // nobody waits
		}
	}
	return none{}, nil
}

// OperatorCall is what the function of a client gets to run the operator. It returns when the operator has, with an OperatorEnd.
type OperatorCall struct {
	Cluster  Cluster `json:"cluster"`  // as its administrator
	Operator Cluster `json:"operator"` // as the operator; it is another one after each restart
}

// OperatorEnd says how the operator has ended.
type OperatorEnd struct {
	Error string `json:"error,omitempty"`
	Panic string `json:"panic,omitempty"` // with the stack
}

// runsThere has the function of the client run the operator of a subject.
func (x *exploration) runsThere(s *explore.Subject, v Subject) {
	s.Prepare = func(t testing.TB, c *fakecluster.Cluster) func(context.Context, *rest.Config) error {
		d := x.host.driverHere()
		whole, err := d.trial.cluster(c, v.Cluster)
		if err != nil {
			t.Fatalf("the cluster of the trial: %v", err)
		}
		return func(ctx context.Context, config *rest.Config) error {
			return x.runThere(ctx, d, whole, config, v.Function)
		}
	}
	if len(v.Cluster.Workloads) > 0 {
		s.Workloads = func(t testing.TB, c *fakecluster.Cluster) {
			whole, err := x.host.driverHere().trial.cluster(c, v.Cluster)
			if err == nil {
				err = whole.live(v.Cluster.Living)
			}
			if err != nil {
				t.Fatalf("the workloads: %v", err)
			}
		}
	}
}

// cluster returns the cluster of a trial as the client uses it.
func (tr *trial) cluster(c *fakecluster.Cluster, s Start) (*cluster, error) {
	tr.mu.Lock()
	known := tr.clusters[c]
	tr.mu.Unlock()
	if known != nil {
		return known, nil
	}
	made := newCluster(tr.exploration.host, c)
	made.services, made.images = s.Services, s.Images
	cfg := c.RESTConfig()
	made.driver, made.token, made.transport = tr.driver, cfg.BearerToken, cfg.Transport
	if _, err := tr.exploration.take(tr.driver, made); err != nil {
		return nil, err
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.clusters[c] = made
	return made, nil
}

// take adds a cluster of a trial to the session, until the bubble ends.
func (x *exploration) take(d *driver, c *cluster) (Cluster, error) {
	if err := x.host.add(x.session, c); err != nil {
		return Cluster{}, err
	}
	d.mu.Lock()
	d.clusters = append(d.clusters, c)
	d.mu.Unlock()
	return c.describe()
}

// callThere calls a function of the client in its bubble, and reads the answer when the function has returned. It is told when ctx ends.
func (d *driver) callThere(ctx context.Context, function uint64, call, end any) error {
	text, err := json.Marshal(call)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, "http://fakecluster/", bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.RequestURI = "/"
	id, running, err := d.beginCall(function, req)
	if err != nil {
		return err
	}
	defer d.forgetCall(id)
	done := ctx.Done()
	for ended := false; !ended; {
		select {
		case <-running.changed:
		case <-done:
			done = nil
			d.cancelCall(id)
		case <-d.gone:
			return errors.New("its process has ended")
		}
		d.mu.Lock()
		ended = running.ended
		d.mu.Unlock()
	}
	switch {
	case running.outcome == functionAborted: // the function has ended its goroutine
		return nil
	case running.status != http.StatusOK:
		return errors.New(string(bytes.TrimSpace(running.data)))
	}
	return json.Unmarshal(running.data, end)
}

// result returns how the operator has ended, as if it had run here.
func (e OperatorEnd) result() error {
	switch {
	case e.Panic != "":
		panic(e.Panic)
	case e.Error != "":
		return errors.New(e.Error)
	}
	return nil
}

// trial returns the trial in the path.
func (c call) trial(session string) (*trial, error) {
	number, err := strconv.Atoi(c.path("trial"))
	if err != nil {
		return nil, wrong(err)
	}
	return c.host.trial(session, c.path("exploration"), number)
}
