package explore_test

import (
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/explore"
)

// A schema with status.observedGeneration promises that the operator sets it.
func TestAGenerationThatIsNeverObservedIsAFinding(t *testing.T) {
	s := gadgetOperator{hidesGeneration: true}.subject()
	s.Trials = 20
	found := findIn(t, s)
	if len(found.Findings) != 1 {
		t.Fatalf("%s: %+v", found, found.Findings)
	}
	f := found.Findings[0]
	const want = "the schema of gadgets.example.com has status.observedGeneration, and the operator writes the status without it, here and in all other trials"
	if f.Oracle != explore.TruthfulStatus || f.What != want || f.Trial != "gadgets.example.com default/a: create; delete" {
		t.Errorf("%s %s: %s", f.Oracle, f.Trial, f.What)
	}
	s.Replay = f.Trial
	if again := findIn(t, s); len(again.Findings) != 1 || again.Findings[0].What != want {
		t.Errorf("the replay: %s, %+v", again, again.Findings)
	}
	s.Replay, s.Without = "", []explore.Oracle{explore.TruthfulStatus}
	if without := findIn(t, s); len(without.Findings) != 0 || strings.Contains(without.String(), "not checked") {
		t.Errorf("without the oracle: %s, %+v", without, without.Findings)
	}
}
