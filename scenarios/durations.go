package scenarios

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing/synctest"
	"time"

	"go.yaml.in/yaml/v3"
)

var oneDuration = argument{"DURATION", func(p *parser, n *yaml.Node) map[string]any {
	if n = p.meant(n); slices.Contains(valueMarks, n.Tag) {
		return map[string]any{"duration": p.tree(n, valueMarks)}
	}
	return map[string]any{"duration": p.duration(n)}
}}

// The defaults of settle.
const (
	defaultQuiet  = time.Second
	defaultWithin = 10 * time.Minute
)

var settlePeriods = argument{"{quiet, within}", func(p *parser, n *yaml.Node) map[string]any {
	n = p.meant(n)
	periods := map[string]any{"quiet": defaultQuiet, "within": defaultWithin}
	p.fields(n, "settle", map[string]func(*yaml.Node){
		"quiet":  func(n *yaml.Node) { periods["quiet"] = p.duration(n) },
		"within": func(n *yaml.Node) { periods["within"] = p.duration(n) },
	})
	quiet, within := periods["quiet"].(time.Duration), periods["within"].(time.Duration)
	if field(n, "within") != nil && quiet > within {
		p.mistake(n, "settle cannot be quiet for %s within %s", quiet, within)
	}
	return periods
}}

// needsTime tells whether a scenario has steps that wait. Such a scenario is played in virtual
// time, where there is one.
func (s *Scenario) needsTime() bool {
	for _, steps := range [][]step{s.setup, s.steps} {
		for _, step := range steps {
			if step.eventually > 0 || step.consistently > 0 || step.onlyVirtual() {
				return true
			}
		}
	}
	return false
}

// onlyVirtual tells whether a step is possible in virtual time only.
func (s step) onlyVirtual() bool { return s.verb.name == "advance" || s.verb.name == "settle" }

// longestWatch is how long an expectation may have to stay true in real time.
const longestWatch = 5 * time.Minute

// onlyVirtual says why a scenario can be played in virtual time only, or nothing.
func (s *Scenario) onlyVirtual() string {
	for _, step := range slices.Concat(s.setup, s.steps) {
		switch {
		case step.onlyVirtual():
			return "advance and settle need virtual time"
		case step.consistently > longestWatch:
			return fmt.Sprintf("consistently: %s needs virtual time", step.consistently)
		}
	}
	return ""
}

// advance lets time pass, and returns when everything that was due has been done.
func (p *playing) advance(ctx context.Context, s step, answers map[string]answer) *Failure {
	fail := func(format string, args ...any) *Failure {
		return &Failure{Position: s.pos, Verb: s.verb.name, Message: fmt.Sprintf(format, args...)}
	}
	value, err := resolve(s.argument["duration"], answers)
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

func (p *playing) pass(ctx context.Context, s step, d time.Duration) *Failure {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	synctest.Wait()
	if ctx.Err() != nil {
		return &Failure{Position: s.pos, Verb: s.verb.name, Message: ended(ctx)}
	}
	return nil
}

// settle lets time pass until there have been no writes for a while.
func (p *playing) settle(ctx context.Context, s step) *Failure {
	quiet, _ := s.argument["quiet"].(time.Duration)
	within, _ := s.argument["within"].(time.Duration)
	for began := time.Now(); ; {
		before, err := p.client.revision(ctx)
		if failed := p.pass(ctx, s, quiet); failed != nil {
			return failed
		}
		after, errAfter := p.client.revision(ctx)
		switch {
		case err != nil || errAfter != nil:
			return &Failure{Position: s.pos, Verb: s.verb.name, Message: fmt.Sprint(err, errAfter)}
		case before == after:
			return nil
		case time.Since(began) >= within:
			return &Failure{Position: s.pos, Verb: s.verb.name,
				Message: fmt.Sprintf("after %s there are still writes, and never none for %s%s", within, quiet, p.controller.lastWrites())}
		}
	}
}

// revision returns the revision of the last write to the cluster.
func (c *client) revision(ctx context.Context) (any, error) {
	const path = "/api/v1/namespaces"
	a, err := c.send(ctx, call{method: http.MethodGet, path: path, query: map[string][]string{"limit": {"1"}}})
	if err != nil {
		return nil, err
	}
	if a.refused() {
		return nil, fmt.Errorf("GET %s: %s", path, a)
	}
	return a.metadata()["resourceVersion"], nil
}
