package suite

import (
	"testing"

	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// The list has all specs: those that are not run by CI have their reason in the table, and each entry of the
// tables is of some of them.
func TestTheTablesAreOfTheList(t *testing.T) {
	list, err := verdict.ReadList("../../" + List.Path)
	if err != nil {
		t.Fatal(err)
	}
	matched := map[string]bool{}
	for _, r := range list {
		reason := reasonBeyond(r.Name)
		if r.Verdict == verdict.NotApplicable && r.Reason != reason {
			t.Errorf("%s is n/a because %q; the table says %q", r.Name, r.Reason, reason)
		}
		for _, b := range beyond {
			if b.specs.MatchString(r.Name) {
				matched[b.specs.String()] = true
				if r.Verdict != verdict.NotApplicable {
					t.Errorf("%s is listed as %s, and the table says %q", r.Name, r.Verdict, b.reason)
				}
			}
		}
		for _, s := range slow {
			if s.MatchString(r.Name) {
				matched[s.String()] = true
			}
		}
	}
	for _, b := range beyond {
		if !matched[b.specs.String()] {
			t.Errorf("no spec matches %s", b.specs)
		}
	}
	for _, s := range slow {
		if !matched[s.String()] {
			t.Errorf("no spec matches %s", s)
		}
	}
}
