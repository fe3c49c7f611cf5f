package scenarios

import (
	"context"
	"slices"
	"time"
)

// On a cluster outside of this process much follows a write a little later: a definition is served, a
// role counts, a document is published. So a step whose answer is not the expected one is played again
// for a while, if playing it has changed nothing: if it reads, or if the server has refused it. A write
// that should be refused is tried as a dry run first, so that it does not happen too early.
// The webhooks forget the calls of tries.

// defaultGrace is how long that while is, unless the player says otherwise.
const defaultGrace = 10 * time.Second

// The first and the longest pause between two tries.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = 250 * time.Millisecond
)

// tries calls try until it returns true, or the time is over.
func tries(ctx context.Context, limit time.Duration, try func() bool) {
	end := time.Now().Add(limit)
	for pause := firstPause; !try() && time.Now().Before(end); pause = min(2*pause, longestPause) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// patient plays a step until its answer is the expected one, as long as that changes nothing.
func (p *playing) patient(ctx context.Context, s step, answers map[string]answer) (a answer, failure *Failure) {
	if rehearsal, ok := s.rehearsal(answers); ok {
		forget := p.client.webhooks.mark()
		tries(ctx, p.grace, func() bool {
			_, failure := rehearsal.play(ctx, p.client, answers)
			forget()
			return failure == nil || !failure.accepted
		})
	}
	tries(ctx, p.grace, func() bool {
		forget := p.client.webhooks.mark()
		if s.verb.name == "calls" {
			forget = p.client.webhooks.of(s.argument).peek()
		}
		if a, failure = s.play(ctx, p.client, answers); failure != nil {
			forget()
		}
		return failure == nil || ctx.Err() != nil || failure.accepted && !s.reads()
	})
	return a, failure
}

// reads tells whether a step only reads.
func (s step) reads() bool {
	switch s.verb.name {
	case "get", "list", "watch", "absent", "count", "events", "calls":
		return true
	}
	return false
}

// rehearsal returns a step that is expected to be refused as a dry run of itself, if there is one.
func (s step) rehearsal(answers map[string]answer) (step, bool) {
	refusal, err := resolve(s.refusal, answers)
	if _, none := refusal.(absent); !s.refused || none || err != nil || s.reads() {
		return s, false
	}
	takesOptions := slices.ContainsFunc(besides, func(b *beside) bool { return b.name == "options" && b.standsWith(s.verb.name) })
	if !takesOptions || s.options["dryRun"] != nil {
		return s, false
	}
	s.options = withDefault(s.options, "dryRun", "All")
	return s, true
}
