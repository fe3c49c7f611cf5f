package explore

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
	"github.com/fakecluster/fakecluster/internal/place"
)

// brokenTrial is a trial in another process, which cannot be played.
type brokenTrial struct{ place.Trial }

func (brokenTrial) Play(func(testing.TB), func(string, string), func(time.Duration)) ([]string, error) {
	return nil, errors.New("the process has ended")
}

// playElsewhere plays a trial in another process.
func playElsewhere(there place.Trial) *outcome {
	e := &operatorExploration{t: test{begin: func() place.Trial { return there }}, installation: &installation{}, limits: usualLimits}
	return e.play(trial{seed: &seed{}})
}

// The outcome of a trial, which is kept, does not keep what the trial has in another process.
func TestAnOutcomeForgetsItsTrialElsewhere(t *testing.T) {
	if out := playElsewhere(brokenTrial{}); out.err == nil || out.there != nil {
		t.Errorf("%v, %v", out.err, out.there)
	}
}

// panickingTrial is a trial in another process that panics when it is played.
type panickingTrial struct{ place.Trial }

func (panickingTrial) Play(func(testing.TB), func(string, string), func(time.Duration)) ([]string, error) {
	panic("no trial")
}

// A panic outside of the bubble of a trial is the error of the trial, with the place, and not the end of the process.
func TestAPanicIsTheErrorOfATrial(t *testing.T) {
	if out := playElsewhere(panickingTrial{}); out.err == nil || !strings.Contains(out.err.Error(), "the trial has panicked: no trial") || !strings.Contains(out.err.Error(), "elsewhere_test.go:") {
		t.Errorf("%v", out.err)
	}
	e := &operatorExploration{} // which cannot keep references
	tr, out := trial{seed: &seed{}}, &outcome{checkpoints: []checkpoint{{quiet: true, desired: []generate.Step{create}}}}
	if e.playReferences(tr, out); out.err == nil || !strings.Contains(out.err.Error(), "the trial has panicked: assignment to entry in nil map") {
		t.Errorf("of a reference: %v", out.err)
	}
}
