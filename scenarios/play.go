package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"
)

// Play plays the scenario on a cluster that start makes. It ends at the first step that fails,
// and when ctx ends, which is a failure too.
func (s *Scenario) Play(ctx context.Context, start Starter) Result {
	return Player{Start: start}.play(ctx, s, nil)
}

// Player plays scenarios. The zero value plays them as [Scenario.Play] with [InProcess] does.
type Player struct {
	// Start makes the clusters; nil: InProcess.
	Start Starter
	// Controller runs beside each scenario, after its setup; nil: none.
	Controller Controller
	// Bubble calls a function in a bubble of testing/synctest, and returns an error if the bubble
	// does not end well. Scenarios that wait, and all with a Controller, are played in it. nil: time
	// is real, and scenarios with advance or settle are skipped.
	Bubble func(func()) error
	// Parallel is how many scenarios are played at the same time; 0: as many as there are
	// processors, or with External 12. With External those are played one after the other, after all
	// others, that see or change more of the cluster than their own namespaces and definitions.
	Parallel int
	// External says that the clusters of Start are views of one that runs outside of this process,
	// as those of [External] are. Scenarios that need what it cannot do are skipped.
	External bool
	// Grace is, with External, how long a step may take until its answer is the expected one; 0: 10
	// seconds. A real cluster does much of what follows a write a little later. So a step with another
	// answer is played again if that has changed nothing: if it reads, or was refused. A write that
	// should be refused is sent as a dry run until that is refused.
	Grace time.Duration

	// virtual: this is in a bubble.
	virtual bool
}

// play plays a scenario, on a fork of what its cases share if of is not nil.
func (with Player) play(ctx context.Context, s *Scenario, of *base) Result {
	if with.Start == nil {
		with.Start = InProcess
	}
	result := Result{Scenario: s}
	began := time.Now()
	if with.External {
		with.Bubble, of = nil, nil
		if result.Skipped = s.notExternal(); result.Skipped != "" {
			return result
		}
	}
	switch {
	case with.Bubble != nil && (with.Controller != nil || s.needsTime()):
		with.virtual = true
		err := with.Bubble(func() {
			// A goroutine that waits for what is outside of the bubble would stop its time, so
			// an interrupt is looked for before each step.
			result.Failure, result.Log = s.play(context.WithoutCancel(ctx), ctx, with, nil)
		})
		if err != nil && result.Failure == nil {
			result.Failure = &Failure{Position: s.Position, Message: err.Error()}
		}
	case s.onlyVirtual() != "":
		result.Skipped = s.onlyVirtual()
	default:
		result.Failure, result.Log = s.play(ctx, ctx, with, of)
	}
	if result.Failure != nil && result.Failure.skipped != "" {
		result.Skipped, result.Failure = result.Failure.skipped, nil
	}
	result.Elapsed = time.Since(began)
	return result
}

// errOver ends what still runs when a scenario is over.
var errOver = errors.New("the scenario is over")

func (s *Scenario) play(ctx, interrupted context.Context, with Player, of *base) (failed *Failure, log []string) {
	if interrupted.Err() != nil {
		return &Failure{Position: s.Position, Message: fmt.Sprintf("not played: %v", context.Cause(interrupted))}, nil
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(errOver)
	var p *playing
	played := 0
	if of != nil {
		p, failed = of.fork(ctx, s, with.Start)
		played = s.table.shared
	} else {
		p, failed = s.begin(ctx, with.Start)
	}
	if failed != nil {
		return failed, nil
	}
	p.interrupted, p.virtual, p.external = interrupted, with.virtual, with.External
	if p.grace = with.Grace; p.grace == 0 {
		p.grace = defaultGrace
	}
	defer func() {
		log = p.log
		if err := p.controller.end(); err != nil && failed == nil {
			failed = &Failure{Position: s.Position, Message: err.Error()}
		}
		if failed != nil {
			failed.Log = log
		}
		if err := p.close(); err != nil && failed == nil {
			failed = &Failure{Position: s.Position, Message: "closing the cluster: " + err.Error()}
		}
	}()
	if s.params != nil {
		p.frames[nil][theCase] = answer{body: s.params}
	}
	if failed = p.play(ctx, s.setup, played, len(s.setup), "setup"); failed != nil {
		return failed, nil
	}
	if with.Controller != nil {
		p.controller = startController(ctx, with.Controller, p.cluster, func(err error) { stop(controllerError{err}) })
	}
	failed = p.play(ctx, s.steps, 0, len(s.steps), "step")
	if failed == nil && ctx.Err() != nil {
		failed = &Failure{Position: s.Position, Message: ended(ctx)}
	}
	return failed, nil
}

// controllerError is why the controller has ended a scenario.
type controllerError struct{ error }

// ended says why ctx has ended.
func ended(ctx context.Context) string {
	cause := context.Cause(ctx)
	if controller := (controllerError{}); errors.As(cause, &controller) {
		return controller.Error()
	}
	return fmt.Sprintf("interrupted: %v", cause)
}

// playing is a scenario that is being played.
type playing struct {
	cluster Cluster
	client  *client
	frames  frames
	// controller runs beside it, or is nil.
	controller *running
	// virtual: time is that of a bubble.
	virtual bool
	// external: the cluster is outside of this process, and what follows a write may be late.
	external bool
	// grace is how long a step may take then.
	grace time.Duration
	// interrupted has ended if the whole run has been interrupted.
	interrupted context.Context
	// log are the lines that the scenario has written.
	log []string
}

// begin starts the cluster of a scenario.
func (s *Scenario) begin(_ context.Context, start Starter) (*playing, *Failure) {
	webhooks := s.startWebhooks()
	options := s.Cluster
	options.Groups = s.groups()
	options.Services = webhooks.services()
	cluster, err := start(options)
	if reason := skipped(""); errors.As(err, &reason) {
		return nil, &Failure{Position: s.Position, Message: err.Error(), skipped: string(reason)}
	}
	if err != nil {
		return nil, &Failure{Position: s.Position, Message: "starting the cluster: " + err.Error()}
	}
	p, failed := s.on(cluster)
	if failed != nil {
		return nil, failed
	}
	p.client.webhooks = webhooks
	p.frames[nil] = webhooks.answers(cluster)
	return p, nil
}

// on is the playing of a scenario on a cluster.
func (s *Scenario) on(cluster Cluster) (*playing, *Failure) {
	client, err := newClient(cluster)
	if err != nil {
		err = errors.Join(err, cluster.Close())
		return nil, &Failure{Position: s.Position, Message: "a client for the cluster: " + err.Error()}
	}
	return &playing{cluster: cluster, client: client, frames: frames{}, interrupted: context.Background()}, nil
}

func (p *playing) close() error {
	p.client.http.CloseIdleConnections()
	return p.cluster.Close()
}

// play plays some of the steps.
func (p *playing) play(ctx context.Context, steps []step, from, to int, what string) *Failure {
	for i, step := range steps[from:to] {
		var failure *Failure
		if p.virtual && p.interrupted.Err() != nil {
			failure = &Failure{Position: step.pos, Verb: step.verb.name, Message: ended(p.interrupted)}
		} else {
			failure = p.step(ctx, step)
		}
		if failure != nil {
			failure.Step = fmt.Sprintf("%s %d", what, from+i+1)
			if step.name != "" {
				failure.Step += " (" + step.name + ")"
			}
			return failure
		}
	}
	return nil
}

// step plays one step, and keeps its answer.
func (p *playing) step(ctx context.Context, s step) *Failure {
	answers, err := p.frames.of(s.scope)
	if err != nil {
		return &Failure{Position: s.pos, Verb: s.verb.name, Message: err.Error()}
	}
	var a answer
	var failure *Failure
	switch {
	case s.verb.name == "advance":
		failure = p.advance(ctx, s, answers)
	case s.verb.name == "settle":
		failure = p.settle(ctx, s)
	case s.eventually > 0 || s.consistently > 0:
		a, failure = p.lasting(ctx, s, answers)
	case p.external:
		a, failure = p.patient(ctx, s, answers)
	default:
		a, failure = s.play(ctx, p.client, answers)
	}
	if failure != nil {
		return failure
	}
	if s.verb.name == "log" {
		p.log = append(p.log, fmt.Sprint(a.body))
	}
	if s.as != "" {
		answers[s.as] = a
	}
	return nil
}

// play makes the step's request and judges the answer.
func (s step) play(ctx context.Context, c *client, answers map[string]answer) (answer, *Failure) {
	failure := &Failure{Position: s.pos, Verb: s.verb.name}
	fail := func(format string, args ...any) (answer, *Failure) {
		failure.Message = fmt.Sprintf(format, args...)
		return answer{}, failure
	}
	request, err := s.request.resolve(answers)
	if err != nil {
		return fail("%v", err)
	}
	target, a, err := actions[s.verb.name](ctx, c, request)
	failure.Object = target.String()
	if err == nil {
		err = c.webhooks.failure()
	}
	switch {
	case ctx.Err() != nil:
		return fail("%s", ended(ctx))
	case err != nil:
		failure.accepted = !errors.As(err, new(notServed))
		return fail("%v", err)
	}
	if failure.Message, failure.Diff = s.judge(a, answers); failure.Message != "" {
		failure.judged, failure.accepted = &judged{s, a, maps.Clone(answers)}, !a.refused()
		return answer{}, failure
	}
	return a, nil
}

// String is the answer in a line.
func (a answer) String() string {
	status, ok := a.body.(map[string]any)
	if !ok {
		return fmt.Sprintf("%s: %s", codeText(a.code), a.shownText(strings.TrimSpace(fmt.Sprint(a.body))))
	}
	reason, _ := status["reason"].(string)
	message, _ := status["message"].(string)
	return fmt.Sprintf("%d %s: %s", a.code, a.shownText(reason), a.shownText(message))
}

func codeText(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}
