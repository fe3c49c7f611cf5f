package explore_test

import (
	"regexp"
	"testing"

	"github.com/fakecluster/fakecluster/explore"
)

// A status that is written in each pass, although it has not changed, is one finding. An operator that writes only what has changed has none.
func TestAWriteInEachPassThatChangesNothingIsAFinding(t *testing.T) {
	s := gadgetOperator{repeatsItself: true}.subject()
	s.Trials = 40
	found := findIn(t, s)
	if len(found.Findings) != 1 {
		t.Fatalf("%s: %+v", found, found.Findings)
	}
	f := found.Findings[0]
	want := regexp.MustCompile(`(?s)^explore: the operator writes what is there already \(oracle quiet-writes\)\..*` +
		`the operator has sent a write \d+ times that changes nothing, also after a restart when nothing had changed:\n` +
		`    update gadgets\.example\.com/status default/a: 200, changes nothing \(gadget_test\.go:\d+\)\n`)
	if f.Oracle != explore.QuietWrites || !want.MatchString(f.Report) {
		t.Errorf("%s: %s", f.Trial, f.Report)
	}
	s.Replay = f.Trial
	if again := findIn(t, s); len(again.Findings) != 1 || again.Findings[0].Oracle != explore.QuietWrites {
		t.Errorf("the replay: %s, %+v", again, again.Findings)
	}
}
