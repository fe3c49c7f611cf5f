package world

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// noted is a part that takes down what happens to it.
type noted struct {
	name  string
	notes *[]string
	fails error
	ctx   context.Context
}

func (p *noted) Start(ctx context.Context) error {
	p.ctx = ctx
	*p.notes = append(*p.notes, "start "+p.name)
	return p.fails
}

func (p *noted) Wait() {
	note := "wait for " + p.name
	if p.ctx != nil && p.ctx.Err() == nil {
		note += ", which has not been ended"
	}
	*p.notes = append(*p.notes, note)
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("it did %q, want %q", got, want)
	}
}

func TestPartsStartInOrderAndEndInReverse(t *testing.T) {
	var notes []string
	w, err := Run(t.Context(), &noted{name: "network", notes: &notes}, &noted{name: "nodes", notes: &notes})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, notes, "start network", "start nodes")
	notes = nil
	w.Close()
	w.Close()
	expect(t, notes, "wait for nodes", "wait for network")
}

func TestAPartThatFailsEndsAll(t *testing.T) {
	var notes []string
	broken := errors.New("broken")
	_, err := Run(t.Context(), &noted{name: "network", notes: &notes}, &noted{name: "nodes", notes: &notes, fails: broken}, &noted{name: "scheduler", notes: &notes})
	if !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	expect(t, notes, "start network", "start nodes", "wait for scheduler", "wait for nodes", "wait for network")
}
