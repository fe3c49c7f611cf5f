package scenarios

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Play plays the scenario on a cluster that start makes. It ends at the first step that fails,
// and when ctx ends, which is a failure too.
func (s *Scenario) Play(ctx context.Context, start Starter) Result {
	began := time.Now()
	failure := s.play(ctx, start)
	return Result{s, time.Since(began), failure}
}

func (s *Scenario) play(ctx context.Context, start Starter) (failed *Failure) {
	if ctx.Err() != nil {
		return &Failure{Position: s.Position, Message: fmt.Sprintf("not played: %v", context.Cause(ctx))}
	}
	webhooks := s.startWebhooks()
	options := s.Cluster
	options.Services = webhooks.services()
	cluster, err := start(options)
	if err != nil {
		return &Failure{Position: s.Position, Message: "starting the cluster: " + err.Error()}
	}
	defer func() {
		if err := cluster.Close(); err != nil && failed == nil {
			failed = &Failure{Position: s.Position, Message: "closing the cluster: " + err.Error()}
		}
	}()
	client, err := newClient(cluster)
	if err != nil {
		return &Failure{Position: s.Position, Message: "a client for the cluster: " + err.Error()}
	}
	defer client.http.CloseIdleConnections()
	client.webhooks = webhooks
	answers := webhooks.answers(cluster)

	for i, m := range s.setup {
		setup := step{pos: m.pos, verb: verbs[0], request: request{argument: m.object}}
		if _, failure := setup.play(ctx, client, answers); failure != nil {
			failure.Step = fmt.Sprintf("setup %d", i+1)
			return failure
		}
	}
	for i, step := range s.steps {
		answer, failure := step.play(ctx, client, answers)
		if failure != nil {
			failure.Step = fmt.Sprintf("step %d", i+1)
			if step.name != "" {
				failure.Step += " (" + step.name + ")"
			}
			return failure
		}
		if step.as != "" {
			answers[step.as] = answer
		}
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
	target, a, err := s.verb.play(ctx, c, request)
	failure.Object = target.String()
	if err == nil {
		err = c.webhooks.failure()
	}
	switch {
	case ctx.Err() != nil:
		return fail("interrupted: %v", context.Cause(ctx))
	case err != nil:
		return fail("%v", err)
	}
	if failure.Message, failure.Diff = s.judge(a, answers); failure.Message != "" {
		return answer{}, failure
	}
	return a, nil
}

// String is the answer in a line.
func (a answer) String() string {
	status, ok := a.body.(map[string]any)
	if !ok {
		return fmt.Sprintf("%s: %s", codeText(a.code), strings.TrimSpace(fmt.Sprint(a.body)))
	}
	return fmt.Sprintf("%d %v: %v", a.code, status["reason"], status["message"])
}

func codeText(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}

// PlayAll plays scenarios, as many concurrently as there are processors. It calls report with
// each result from the calling goroutine, in the order of the scenarios. When it returns, all
// results have been reported and nothing is running.
func PlayAll(ctx context.Context, scenarios []*Scenario, start Starter, report func(Result)) {
	results := make([]chan Result, len(scenarios))
	for i := range results {
		results[i] = make(chan Result, 1)
	}
	var next atomic.Int64
	var players sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(scenarios)) {
		players.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(scenarios) {
					return
				}
				results[i] <- scenarios[i].Play(ctx, start)
			}
		})
	}
	for _, result := range results {
		report(<-result)
	}
	players.Wait()
}
