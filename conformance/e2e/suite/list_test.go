package suite

import (
	"testing"

	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// The list has all specs: those that wait for minutes, too.
func TestTheSlowSpecsAreOfTheList(t *testing.T) {
	list, err := verdict.ReadList("../../" + List.Path)
	if err != nil {
		t.Fatal(err)
	}
	matched := map[string]bool{}
	for _, r := range list {
		for _, s := range slow {
			if s.MatchString(r.Name) {
				matched[s.String()] = true
			}
		}
	}
	for _, s := range slow {
		if !matched[s.String()] {
			t.Errorf("no spec matches %s", s)
		}
	}
}
