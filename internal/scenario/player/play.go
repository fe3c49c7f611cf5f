package player

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// Play plays the scenario on a cluster that start makes. It ends at the first step that fails,
// and when ctx ends, which is a failure too.
func Play(ctx context.Context, s *syntax.Scenario, start Starter) Result {
	return Player{Start: start}.Play(ctx, s, nil)
}

// Player plays scenarios. The zero value plays them as [Play] with [InProcess] does.
type Player struct {
	// Start makes the clusters; nil: InProcess.
	Start Starter
	// Controller runs beside each scenario, after its setup; nil: none.
	Controller Controller
	// Live makes the cluster of a scenario with workloads live; nil: such scenarios fail.
	Live Live
	// Bubble calls a function in a bubble of testing/synctest, and returns an error if the bubble
	// does not end well. Scenarios that wait, and all with a Controller, are played in it. nil: time
	// is real, and scenarios with advance or settle are skipped.
	Bubble func(func()) error
	// Parallel is how many scenarios are played concurrently; 0: the number of processors, or 12 with
	// Remote. With Remote, scenarios that see or change more of the cluster than their own namespaces and
	// definitions are played one after the other, after all others.
	Parallel int
	// Remote: the clusters of Start are views of one that runs outside of this process, as those of
	// package remote are. Scenarios that such a cluster does not support are skipped.
	Remote bool
	// Grace is, with Remote, how long a step may take until its answer is as expected; 0: 10 seconds. A real
	// cluster reacts to many writes a little later. So the step is repeated if it changed nothing: if it
	// reads, or was rejected. A write that should be rejected is sent as a dry run until the dry run is
	// rejected.
	Grace time.Duration

	// Explanation is what the result of a failed scenario contains besides the failure.
	Explanation Explanation

	// virtual: the scenario is played in a bubble.
	virtual bool
}

// Play plays a scenario. If shared is not nil, it plays on a fork of the cluster that the cases share.
func (with Player) Play(ctx context.Context, s *syntax.Scenario, shared *sharedCluster) Result {
	if with.Start == nil {
		with.Start = InProcess
	}
	result := Result{Scenario: s}
	began := time.Now()
	if with.Remote {
		with.Bubble, shared = nil, nil
		if result.Skipped = unsupportedRemotely(s); result.Skipped != "" {
			return result
		}
	}
	if s.Workloads != nil && len(s.Workloads.Programs) > 0 {
		with.Bubble = nil // programs have real time
	}
	switch {
	case with.Bubble != nil && (with.Controller != nil || waits(s)):
		with.virtual = true
		err := with.Bubble(func() {
			// A goroutine that waits for something outside the bubble would stop its time, so
			// interrupts are checked before each step.
			playScenario(context.WithoutCancel(ctx), &result, ctx, with, nil)
		})
		if err != nil && result.Failure == nil {
			result.Failure = &Failure{Position: s.Position, Message: err.Error()}
		}
	case needsVirtualTime(s) != "":
		result.Skipped = needsVirtualTime(s)
	default:
		playScenario(ctx, &result, ctx, with, shared)
	}
	if result.Failure != nil && result.Failure.skipReason != "" {
		result.Skipped, result.Failure = result.Failure.skipReason, nil
	}
	result.Elapsed = time.Since(began)
	return result
}

// errOver is the cause that ends the context of a scenario.
var errOver = errors.New("the scenario has ended")

// playScenario plays the scenario of a result and fills in the failure and the log.
func playScenario(ctx context.Context, result *Result, interrupted context.Context, with Player, shared *sharedCluster) {
	s := result.Scenario
	if interrupted.Err() != nil {
		result.Failure = &Failure{Position: s.Position, Message: fmt.Sprintf("not played: %v", context.Cause(interrupted))}
		return
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(errOver)
	var p *playback
	played := 0
	if shared != nil {
		p, result.Failure = shared.fork(ctx, s, with.Start)
		played = s.Cases.SharedSetup
	} else {
		p, result.Failure = begin(ctx, s, with.Start)
	}
	if result.Failure != nil {
		return
	}
	p.interrupted, p.virtual, p.remote = interrupted, with.virtual, with.Remote
	if p.grace = with.Grace; p.grace == 0 {
		p.grace = defaultGrace
	}
	defer p.end(result, with.Explanation)
	result.Failure = p.playAll(ctx, s, played, with, stop)
}

// playAll plays the setup from a step on, and the steps.
func (p *playback) playAll(ctx context.Context, s *syntax.Scenario, from int, with Player, stop context.CancelCauseFunc) *Failure {
	if s.Workloads != nil {
		if failed := p.live(with.Live, s); failed != nil {
			return failed
		}
	}
	if s.Params != nil {
		p.frames[nil][syntax.CaseName] = Answer{Body: s.Params}
	}
	if failed := p.play(ctx, s.Setup, from, len(s.Setup), "setup"); failed != nil {
		return failed
	}
	if with.Controller != nil {
		p.client.controller = startController(ctx, with.Controller, p.cluster, func(err error) { stop(controllerError{err}) })
	}
	failed := p.play(ctx, s.Steps, 0, len(s.Steps), "step")
	if failed == nil && ctx.Err() != nil {
		failed = &Failure{Position: s.Position, Message: ended(ctx)}
	}
	return failed
}

// end stops the workloads, explains a failure, and closes the cluster. An error of these is the failure of a scenario
// that has none.
func (p *playback) end(result *Result, explanation Explanation) {
	check := func(prefix string, err error) {
		if err != nil && result.Failure == nil {
			result.Failure = &Failure{Position: result.Scenario.Position, Message: prefix + err.Error()}
		}
	}
	result.Log = p.client.log
	check("", p.client.controller.end())
	check("", p.endLife())
	if result.Failure != nil {
		result.Failure.Log = result.Log
		result.Explained = explanation.textsOf(p.cluster, result)
	}
	check("closing the cluster: ", p.close())
}

// controllerError is the error with which the controller ended a scenario.
type controllerError struct{ error }

// ended returns why ctx has ended, for a message.
func ended(ctx context.Context) string {
	cause := context.Cause(ctx)
	if controller := (controllerError{}); errors.As(cause, &controller) {
		return controller.Error()
	}
	return fmt.Sprintf("interrupted: %v", cause)
}

// playback is a scenario that is being played.
type playback struct {
	cluster Backend
	client  *Client
	frames  frames
	// living is what lives in the cluster; nil: nothing does.
	living io.Closer
	// virtual: the scenario is played in a bubble, in virtual time.
	virtual bool
	// remote: the cluster is outside of this process and may react late to a write.
	remote bool
	// grace is the time limit of a step on a remote cluster.
	grace time.Duration
	// interrupted has ended if the whole run has been interrupted.
	interrupted context.Context
}

// begin starts the cluster of a scenario.
func begin(_ context.Context, s *syntax.Scenario, start Starter) (*playback, *Failure) {
	webhooks := startWebhooks(s)
	cluster, err := start(ClusterOptions{s.Cluster, s.Groups(), webhooks.services()})
	if reason := SkipError(""); errors.As(err, &reason) {
		return nil, &Failure{Position: s.Position, Message: err.Error(), skipReason: string(reason)}
	}
	if err != nil {
		return nil, &Failure{Position: s.Position, Message: "starting the cluster: " + err.Error()}
	}
	p, failed := newPlayback(s, cluster)
	if failed != nil {
		return nil, failed
	}
	p.client.webhooks = webhooks
	p.frames[nil] = webhooks.answers(cluster)
	return p, nil
}

// newPlayback returns a playback of the scenario on a cluster.
func newPlayback(s *syntax.Scenario, cluster Backend) (*playback, *Failure) {
	client, err := newClient(cluster)
	if err != nil {
		err = errors.Join(err, cluster.Close())
		return nil, &Failure{Position: s.Position, Message: "a client for the cluster: " + err.Error()}
	}
	return &playback{cluster: cluster, client: client, frames: frames{}, interrupted: context.Background()}, nil
}

func (p *playback) close() error {
	p.client.HTTP.CloseIdleConnections()
	return p.cluster.Close()
}

// play plays some of the steps.
func (p *playback) play(ctx context.Context, steps []syntax.Step, from, to int, what string) *Failure {
	for i, step := range steps[from:to] {
		var failure *Failure
		if p.virtual && p.interrupted.Err() != nil {
			failure = &Failure{Position: step.Pos, Verb: step.Verb.Name, Message: ended(p.interrupted)}
		} else {
			failure = p.step(ctx, step)
		}
		if failure != nil {
			failure.Step = fmt.Sprintf("%s %d", what, from+i+1)
			if step.Name != "" {
				failure.Step += " (" + step.Name + ")"
			}
			return failure
		}
	}
	return nil
}

// step plays one step, and stores its answer.
func (p *playback) step(ctx context.Context, s syntax.Step) *Failure {
	answers, err := p.frames.answersOf(s.Scope)
	if err != nil {
		return &Failure{Position: s.Pos, Verb: s.Verb.Name, Message: err.Error()}
	}
	var a Answer
	var failure *Failure
	switch {
	case s.Eventually > 0 || s.Consistently > 0:
		a, failure = p.await(ctx, s, answers)
	case p.remote:
		a, failure = p.playWithRetries(ctx, s, answers)
	default:
		a, failure = playStep(ctx, s, p.client, answers)
	}
	if failure != nil {
		return failure
	}
	if s.As != "" {
		answers[s.As] = a
	}
	return nil
}

// playStep performs the step and compares the answer with the expectation.
func playStep(ctx context.Context, s syntax.Step, c *Client, answers map[string]Answer) (Answer, *Failure) {
	failure := &Failure{Position: s.Pos, Verb: s.Verb.Name}
	fail := func(format string, args ...any) (Answer, *Failure) {
		failure.Message = fmt.Sprintf(format, args...)
		return Answer{}, failure
	}
	request, err := resolveRequest(s.Request, answers)
	if err != nil {
		return fail("%v", err)
	}
	target, a, err := actionOf(s).do(ctx, c, request)
	failure.Object = target.String()
	if err == nil {
		err = c.webhooks.failure()
	}
	switch {
	case ctx.Err() != nil:
		return fail("%s", ended(ctx))
	case err != nil:
		failure.mayHaveChanged = !errors.As(err, new(notServed))
		return fail("%v", err)
	}
	if failure.Message, failure.Diff = evaluate(s.Expectation, a, answers); failure.Message != "" {
		failure.Mismatch, failure.mayHaveChanged = &Mismatch{s, a, maps.Clone(answers)}, !a.IsError()
		return Answer{}, failure
	}
	return a, nil
}

// Result is the result of playing a scenario.
type Result struct {
	Scenario *syntax.Scenario
	// Elapsed is the time for all of it: starting the cluster, setup, steps and closing.
	Elapsed time.Duration
	// Failure is nil if the scenario passed, or was skipped.
	Failure *Failure
	// Skipped is why the scenario was not played; empty: it was played.
	Skipped string
	// Explained has what Player.Explanation selects, if the scenario failed.
	Explained []string
	// Log has the lines that the scenario wrote to its log.
	Log []string
}
