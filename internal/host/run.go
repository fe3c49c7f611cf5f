package host

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore"
)

// Run asks to run a test again and again, each time with a fault at another place. Its fields are the options of explore.Run.
type Run struct {
	Function   uint64  `json:"function" doc:"names the function of the client that runs the test once"`
	Cluster    Start   `json:"cluster" doc:"the options of the clusters, without a session"`
	Runs       *int    `json:"runs,omitempty" doc:"the largest number of runs; default: 1000"`
	Faults     *int    `json:"faults,omitempty" doc:"the largest number of faults in a run, 1 or 2; default: 1"`
	Seed       *uint64 `json:"seed,omitempty" doc:"the seed of uids, generated names and orders of events; default: 1"`
	Orders     *int    `json:"orders,omitempty" doc:"how many orders of events are tried; default: 8"`
	StaleReads bool    `json:"staleReads,omitempty" doc:"makes reads without a resourceVersion stale, too"`
	Replay     *string `json:"replay,omitempty" doc:"a schedule of a report that is run alone"`
}

// options returns the options of package explore.
func (r Run) options(h *Host) ([]explore.Option, error) {
	if r.Cluster.Snapshot != "" || r.Cluster.SnapshotData != "" {
		return nil, refuse(http.StatusBadRequest, "cluster: a snapshot cannot be an option of a test that is run again and again: it is read only once")
	}
	options, err := r.Cluster.options()
	if err != nil {
		return nil, err
	}
	functions, err := r.Cluster.functions(h)
	if err != nil {
		return nil, err
	}
	made := []explore.Option{explore.With(append(options, functions...)...)}
	for _, number := range []struct {
		given  *int
		option func(int) explore.Option
	}{{r.Runs, explore.Runs}, {r.Faults, explore.Faults}, {r.Orders, explore.Orders}} {
		if number.given != nil {
			made = append(made, number.option(*number.given))
		}
	}
	if r.Seed != nil {
		made = append(made, explore.Seed(*r.Seed))
	}
	if r.StaleReads {
		made = append(made, explore.StaleReads())
	}
	if r.Replay != nil {
		made = append(made, explore.Replay(*r.Replay))
	}
	return made, nil
}

// BodyCall is what the function of a client gets to run the test once. It returns when the test has, with a BodyEnd.
type BodyCall struct {
	Cluster Cluster `json:"cluster"`
	// Ended is set in a second call, when the controllers have ended: the function cleans up.
	Ended bool `json:"ended,omitempty"`
}

// BodyEnd says how the test has ended. What it has reported came by actInRun.
type BodyEnd struct {
	Skipped bool `json:"skipped,omitempty"`
}

// playedRun is a run of a test whose body runs in the process of the client.
type playedRun struct {
	t       testing.TB
	cluster *explore.Cluster
	whole   *cluster
	asked   Run
	// cleanedUp is set when the client has cleaned up. Otherwise its process has ended before.
	cleanedUp bool
}

// body returns the body of a test that has the function of the client run it.
func (x *exploration) body(asked Run) explore.Body {
	return func(t testing.TB, c *explore.Cluster) {
		d := x.host.driverHere()
		whole, err := d.trial.cluster(c.Cluster, asked.Cluster)
		if err == nil && len(asked.Cluster.Workloads) > 0 {
			err = whole.live(asked.Cluster.Living)
		}
		var described Cluster
		if err == nil {
			described, err = whole.describe()
		}
		if err != nil {
			t.Fatalf("the cluster of the run: %v", err)
		}
		played := &playedRun{t: t, cluster: c, whole: whole, asked: asked}
		d.trial.set(played)
		t.Cleanup(func() { // while the cluster is still there
			if played.cleanedUp {
				x.writePage(t, whole)
			}
		})
		var end BodyEnd
		if err := d.callThere(t.Context(), asked.Function, BodyCall{Cluster: described}, &end); err != nil {
			t.Fatalf("the test cannot be run: %v", err)
		}
		if end.Skipped {
			t.SkipNow()
		}
	}
}

// writePage writes the page of a run that has failed, if the client asks for pages.
func (x *exploration) writePage(t testing.TB, c *cluster) {
	if x.report == "" || !t.Failed() {
		return
	}
	if path, err := c.WriteReport(x.report, x.test); err != nil {
		t.Logf("fakecluster: the report cannot be written: %v", err)
	} else {
		t.Logf("fakecluster: the report is in %s", path)
	}
}

// CleanUp implements place.Trial.
func (tr *trial) CleanUp() {
	if r := tr.playedRun(); r != nil {
		defer tr.set(nil)
		err := tr.driver.callThere(r.t.Context(), r.asked.Function, BodyCall{Ended: true}, &BodyEnd{})
		if r.cleanedUp = err == nil; err != nil {
			r.t.Errorf("the test cannot be ended: %v", err)
		}
	}
}

func (tr *trial) set(r *playedRun) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.playing = r
}

// playedRun returns the run that is played; nil: there is none, or it has ended.
func (tr *trial) playedRun() *playedRun {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.playing
}

// RunAction is what a test does in a run besides its requests. It has at most one of control, wait and log.
type RunAction struct {
	Session string           `json:"session" doc:"the session of the exploration"`
	Control *Control         `json:"control,omitempty" doc:"starts a controller under test"`
	Wait    *metav1.Duration `json:"wait,omitempty" doc:"lets time pass, until everything is done that is due by then"`
	Log     string           `json:"log,omitempty" doc:"a text for the log of the run"`
	Failed  bool             `json:"failed,omitempty" doc:"the run has failed, for the reason of log"`
}

// actions returns the names of the actions.
func (a RunAction) actions() (names []string) {
	if a.Control != nil {
		names = append(names, "control")
	}
	if a.Wait != nil {
		names = append(names, "wait")
	}
	if a.Log != "" || a.Failed {
		names = append(names, "log")
	}
	return names
}

// Control is a controller under test.
type Control struct {
	Name     string `json:"name" doc:"the name of the controller, which is the user agent of its requests"`
	Token    string `json:"token" doc:"the bearer token of its user"`
	Function uint64 `json:"function" doc:"names the function of the client that runs the controller"`
}

// RunState is the answer to an action in a run.
type RunState struct {
	Failed bool `json:"failed" doc:"the run has failed"`
	Fatal  bool `json:"fatal" doc:"the action has failed, and the test must end"`
}

// actInRun is called in the bubble of the run.
func actInRun(c call, a RunAction) (RunState, error) {
	if asked := a.actions(); len(asked) > 1 {
		return RunState{}, refuse(http.StatusBadRequest, "%s exclude each other; give one of them", strings.Join(asked, " and "))
	}
	tr, err := c.trial(a.Session)
	if err != nil {
		return RunState{}, err
	}
	d := driverOf(c)
	if d == nil || d.trial != tr {
		return RunState{}, refuse(http.StatusConflict, "a test acts in the bubble of its run")
	}
	r := tr.playedRun()
	if r == nil {
		return RunState{}, refuse(http.StatusConflict, "no test is running in the trial: it has ended, or an operator is explored")
	}
	state := RunState{}
	switch {
	case a.Control != nil:
		ended := make(chan struct{})
		state.Fatal = true
		go func() { // which a wrong argument ends
			defer close(ended)
			r.control(d, *a.Control)
			state.Fatal = false
		}()
		<-ended
	case a.Wait != nil:
		r.cluster.Wait(a.Wait.Duration)
	case a.Failed && a.Log == "":
		r.t.Fail()
	case a.Failed:
		r.t.Error(a.Log)
	case a.Log != "":
		r.t.Log(a.Log)
	}
	state.Failed = r.t.Failed()
	return state, nil
}

// control has the client run a controller until the end of the run.
func (r *playedRun) control(d *driver, asked Control) {
	config := r.cluster.RESTConfig()
	config.BearerToken = asked.Token
	r.cluster.Control(asked.Name, config, func(ctx context.Context, config *rest.Config) error {
		return d.trial.exploration.runThere(ctx, d, r.whole, config, asked.Function)
	})
}

// runThere has a function of the client run with a cluster as the user of a config sees it, until it returns.
func (x *exploration) runThere(ctx context.Context, d *driver, whole *cluster, config *rest.Config, function uint64) error {
	made := newCluster(x.host, whole.Cluster)
	made.whole, made.services, made.images = whole, whole.services, whole.images
	made.driver, made.token, made.transport = d, config.BearerToken, config.Transport
	if config.WrapTransport != nil {
		made.transport = config.WrapTransport(made.transport)
	}
	made.transport = &agent{config.UserAgent, made.transport}
	operator, err := x.take(d, made)
	if err != nil {
		return err
	}
	administrator, err := whole.describe()
	if err != nil {
		return err
	}
	var end OperatorEnd
	if err := d.callThere(ctx, function, OperatorCall{administrator, operator}, &end); err != nil {
		return fmt.Errorf("it cannot be called: %w", err)
	}
	return end.result()
}

// agent is a transport for requests with a user agent.
type agent struct {
	name string
	to   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (a *agent) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", a.name)
	return a.to.RoundTrip(req)
}
