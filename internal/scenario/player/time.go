package player

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// waits reports whether a scenario has steps that wait, or controllers and pods that act later than a write. Such a scenario is played in virtual
// time, if there is a bubble.
func waits(s *syntax.Scenario) bool {
	if s.Workloads != nil {
		return true
	}
	for _, steps := range [][]syntax.Step{s.Setup, s.Steps} {
		for _, step := range steps {
			if step.Eventually > 0 || step.Consistently > 0 || actionOf(step).virtual {
				return true
			}
		}
	}
	return false
}

// longestWatch is how long an expectation may have to stay true in real time.
const longestWatch = 5 * time.Minute

// needsVirtualTime returns why a scenario can be played only in virtual time; empty: it can be played in real time.
func needsVirtualTime(s *syntax.Scenario) string {
	for _, step := range slices.Concat(s.Setup, s.Steps) {
		switch {
		case actionOf(step).virtual:
			return "advance and settle need virtual time, which this cluster does not have"
		case step.Consistently > longestWatch:
			return fmt.Sprintf("consistently: %s needs virtual time, which this cluster does not have", step.Consistently)
		}
	}
	return ""
}

// advance lets virtual time pass, and waits until all goroutines that were due are blocked again.
func advance(ctx context.Context, _ *Client, r syntax.Request) (target, Answer, error) {
	d, isDuration := r.Argument["duration"].(time.Duration)
	if !isDuration {
		var err error
		text, _ := r.Argument["duration"].(string)
		if d, err = time.ParseDuration(text); err != nil || d <= 0 {
			return target{}, Answer{}, fmt.Errorf("advance takes a positive duration such as 1h30m, not %s", inOneLine(r.Argument["duration"]))
		}
	}
	return target{}, emptyAnswer(), pass(ctx, d)
}

// pass lets time pass, until ctx ends.
func pass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	synctest.Wait()
	return ctx.Err()
}

// settle lets time pass until there have been no writes for a while.
func settle(ctx context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	quiet, _ := r.Argument["quiet"].(time.Duration)
	within, _ := r.Argument["within"].(time.Duration)
	for began := time.Now(); ; {
		before, err := c.revision(ctx)
		if err != nil {
			return target{}, Answer{}, err
		}
		if err := pass(ctx, quiet); err != nil {
			return target{}, Answer{}, err
		}
		after, err := c.revision(ctx)
		switch {
		case err != nil:
			return target{}, Answer{}, err
		case before == after:
			return target{}, emptyAnswer(), nil
		case time.Since(began) >= within:
			return target{}, Answer{}, fmt.Errorf("there are still writes after %s, without a pause of %s%s", within, quiet, c.controller.lastWrites())
		}
	}
}

// revision returns the revision of the last write to the cluster. In a living cluster it returns the number of revisions, without
// those of Leases, which nodes renew all the time.
func (c *Client) revision(ctx context.Context) (any, error) {
	if c.stats != nil {
		var n int64
		for counted, counts := range c.stats() {
			if counted.Resource != "leases" {
				n += counts.Revisions
			}
		}
		return n, nil
	}
	const path = "/api/v1/namespaces"
	a, err := c.Send(ctx, Call{Method: http.MethodGet, Path: path, query: map[string][]string{"limit": {"1"}}})
	if err != nil {
		return nil, err
	}
	if a.IsError() {
		return nil, fmt.Errorf("GET %s: %s", path, a)
	}
	return a.metadata()["resourceVersion"], nil
}
