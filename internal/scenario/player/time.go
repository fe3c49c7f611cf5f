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

// waits reports whether a scenario has steps that wait. Such a scenario is played in virtual
// time, where there is one.
func waits(s *syntax.Scenario) bool {
	for _, steps := range [][]syntax.Step{s.Setup, s.Steps} {
		for _, step := range steps {
			if step.Eventually > 0 || step.Consistently > 0 || onlyVirtual(step) {
				return true
			}
		}
	}
	return false
}

// onlyVirtual reports whether a step is possible in virtual time only.
func onlyVirtual(s syntax.Step) bool { return s.Verb.Name == "advance" || s.Verb.Name == "settle" }

// longestWatch is how long an expectation may have to stay true in real time.
const longestWatch = 5 * time.Minute

// needsVirtualTime says why a scenario can be played in virtual time only, or nothing.
func needsVirtualTime(s *syntax.Scenario) string {
	for _, step := range slices.Concat(s.Setup, s.Steps) {
		switch {
		case onlyVirtual(step):
			return "advance and settle need virtual time"
		case step.Consistently > longestWatch:
			return fmt.Sprintf("consistently: %s needs virtual time", step.Consistently)
		}
	}
	return ""
}

// advance lets time pass, and returns when everything that was due has been done.
func (p *playback) advance(ctx context.Context, s syntax.Step, answers map[string]Answer) *Failure {
	fail := func(format string, args ...any) *Failure {
		return &Failure{Position: s.Pos, Verb: s.Verb.Name, Message: fmt.Sprintf(format, args...)}
	}
	value, err := Resolve(s.Argument["duration"], answers)
	if err != nil {
		return fail("%v", err)
	}
	d, known := value.(time.Duration)
	if !known {
		text, _ := value.(string)
		if d, err = time.ParseDuration(text); err != nil || d <= 0 {
			return fail("a duration is a text such as 1h30m, more than nothing, and not %s", inOneLine(value))
		}
	}
	return p.pass(ctx, s, d)
}

func (p *playback) pass(ctx context.Context, s syntax.Step, d time.Duration) *Failure {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	synctest.Wait()
	if ctx.Err() != nil {
		return &Failure{Position: s.Pos, Verb: s.Verb.Name, Message: ended(ctx)}
	}
	return nil
}

// settle lets time pass until there have been no writes for a while.
func (p *playback) settle(ctx context.Context, s syntax.Step) *Failure {
	quiet, _ := s.Argument["quiet"].(time.Duration)
	within, _ := s.Argument["within"].(time.Duration)
	for began := time.Now(); ; {
		before, err := p.client.revision(ctx)
		if failed := p.pass(ctx, s, quiet); failed != nil {
			return failed
		}
		after, errAfter := p.client.revision(ctx)
		switch {
		case err != nil || errAfter != nil:
			return &Failure{Position: s.Pos, Verb: s.Verb.Name, Message: fmt.Sprint(err, errAfter)}
		case before == after:
			return nil
		case time.Since(began) >= within:
			return &Failure{Position: s.Pos, Verb: s.Verb.Name,
				Message: fmt.Sprintf("after %s there are still writes, and never none for %s%s", within, quiet, p.controller.lastWrites())}
		}
	}
}

// revision returns the revision of the last write to the cluster.
func (c *Client) revision(ctx context.Context) (any, error) {
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
