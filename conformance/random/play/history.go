package play

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/fakecluster/fakecluster/conformance/wire/exchange"
)

// Exchange is a step, and what the first server answered, as it is compared. The answer to a hidden step is empty.
type Exchange struct {
	Step   Step   `json:"step"`
	Answer string `json:"answer,omitempty"`
}

// Recording is a history as it was played on one server.
type Recording struct {
	Name      string     `json:"name"`
	Exchanges []Exchange `json:"exchanges"`
}

// Difference is a step that two servers answer differently.
type Difference struct {
	// Before are the steps of the history that come before.
	Before []Step
	Step   Step
	// Diff is a unified diff from the first server's answer to the second's.
	Diff string
}

// History plays steps on two servers, one after the other, until an answer differs. What comes next may depend on what the first server has
// answered, and on Rand. It is not safe for concurrent use.
type History struct {
	// Name is the family and the number.
	Name string
	// ID is part of the names of all objects of the history, so that histories do not meet.
	ID string
	// Rand decides. Its seed is that of the history.
	Rand *rand.Rand

	ctx       context.Context
	states    [2]*state
	exchanges []Exchange
	compared  int
	different *Difference
	err       error
}

// NewHistory returns a history of two servers, the first of which is right.
func NewHistory(ctx context.Context, name, id string, random *rand.Rand, right, other *Server) *History {
	return &History{Name: name, ID: id, Rand: random, ctx: ctx, states: [2]*state{newState(right), newState(other)}}
}

// Do plays a step, and returns the object that the first server answered with, if any. After a difference it does nothing.
func (h *History) Do(step Step) (code int, object map[string]any) {
	if h.Over() {
		return 0, nil
	}
	var answers [2]answer
	var failed [2]error
	var both sync.WaitGroup
	for i, s := range h.states {
		both.Go(func() { answers[i], failed[i] = s.do(h.ctx, step) })
	}
	both.Wait()
	for i, err := range failed {
		if err != nil {
			h.err = fmt.Errorf("%s: server %d: %s: %w", h.Name, i+1, step.Name(), err)
			return 0, nil
		}
	}
	h.compare(step, answers)
	if json.Unmarshal(answers[0].body, &object) != nil {
		object = nil
	}
	return answers[0].code, object
}

func (h *History) compare(step Step, answers [2]answer) {
	exchanged := Exchange{Step: step}
	if !step.Hidden {
		h.compared++
		if step.Method == Reviews {
			answers[0] = reviewed(withScales(withoutStale(answers[0].calls, answers[1].calls), answers[1].calls))
		}
		exchanged.Answer = answers[0].text(step)
		diff, err := exchange.Difference(exchanged.Answer, answers[1].text(step))
		switch {
		case err != nil:
			h.err = err
		case diff != "":
			h.different = &Difference{Before: h.steps(), Step: step, Diff: diff}
		}
	}
	h.exchanges = append(h.exchanges, exchanged)
}

func (h *History) steps() []Step {
	steps := make([]Step, len(h.exchanges))
	for i, e := range h.exchanges {
		steps[i] = e.Step
	}
	return steps
}

// Over reports whether the history has met a difference or an error.
func (h *History) Over() bool { return h.different != nil || h.err != nil }

// Compared returns how many answers were compared.
func (h *History) Compared() int { return h.compared }

// Result returns the difference that the history has met, if any, and the error that ended it.
func (h *History) Result() (*Difference, error) { return h.different, h.err }

// Recording returns what was played.
func (h *History) Recording() Recording { return Recording{h.Name, h.exchanges} }

// Clean plays a step on both servers whose outcome does not matter, because the history is at its end.
func (h *History) Clean(step Step) {
	step.Hidden = true
	for _, s := range h.states {
		_, _ = s.do(h.ctx, step)
	}
	h.exchanges = append(h.exchanges, Exchange{Step: step})
}

// Replay plays a recorded history on a server. It returns the first exchange with another answer, and nil if there is none.
func Replay(ctx context.Context, s *Server, r Recording) (*Difference, error) {
	current := newState(s)
	var before []Step
	for _, e := range r.Exchanges {
		got, err := current.do(ctx, e.Step)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", r.Name, e.Step.Name(), err)
		}
		if !e.Step.Hidden {
			diff, err := exchange.Difference(e.Answer, got.text(e.Step))
			if err != nil || diff != "" {
				return &Difference{before, e.Step, diff}, err
			}
		}
		before = append(before, e.Step)
	}
	return nil, nil
}

// String returns the difference for a reader: the steps before it, the step, and how the answers differ.
func (d *Difference) String() string {
	var b strings.Builder
	for _, s := range append(d.Before, d.Step) {
		fmt.Fprintf(&b, "%s\n", s.Name())
		if s.Body != "" {
			fmt.Fprintf(&b, "  %s\n", s.Body)
		}
	}
	b.WriteString(d.Diff)
	return b.String()
}
