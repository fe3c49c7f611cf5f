package player

import (
	"context"
	"time"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// A cluster outside of this process reacts to some writes a little later: it serves a definition, enforces a
// role, publishes a document. So a step whose answer is not as expected is repeated for a while, if it changed
// nothing: if it reads, or if the server rejected it. A write that should be rejected is first tried as a dry
// run, so that it does not happen too early.
// The webhooks forget the calls of tries.

// defaultGrace is the default of Player.Grace.
const defaultGrace = 10 * time.Second

// The first and the longest pause between two tries.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = 250 * time.Millisecond
)

// Retry calls try until it returns true, or the time is over.
func Retry(ctx context.Context, limit time.Duration, try func() bool) {
	end := time.Now().Add(limit)
	for pause := firstPause; !try() && time.Now().Before(end); pause = min(2*pause, longestPause) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// playWithRetries repeats a step until its answer is as expected, while it has changed nothing.
func (p *playback) playWithRetries(ctx context.Context, s syntax.Step, answers map[string]Answer) (a Answer, failure *Failure) {
	if rehearsal, ok := asDryRun(s, answers); ok {
		forget := p.client.webhooks.checkpoint()
		Retry(ctx, p.grace, func() bool {
			_, failure := playStep(ctx, rehearsal, p.client, answers)
			forget()
			return failure == nil || !failure.mayHaveChanged
		})
	}
	Retry(ctx, p.grace, func() bool {
		forget := p.client.webhooks.checkpoint()
		if s.Verb.Name == "calls" {
			forget = p.client.webhooks.webhookOf(s.Argument).undoRead()
		}
		if a, failure = playStep(ctx, s, p.client, answers); failure != nil {
			forget()
		}
		return failure == nil || ctx.Err() != nil || failure.mayHaveChanged && !actionOf(s).reads
	})
	return a, failure
}

// asDryRun returns the dry run of a step that expects to be rejected. It reports false for other steps.
func asDryRun(s syntax.Step, answers map[string]Answer) (syntax.Step, bool) {
	refusal, err := Resolve(s.Error, answers)
	if _, none := refusal.(syntax.Absent); !s.HasError || none || err != nil || actionOf(s).reads {
		return s, false
	}
	if !s.Verb.Allows("options") || s.Options["dryRun"] != nil {
		return s, false
	}
	s.Options = withDefault(s.Options, "dryRun", "All")
	return s, true
}
