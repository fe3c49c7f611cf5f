package syntax

import (
	"strings"
	"testing"
)

// A probability is a number above 0, up to 1.
func TestProbability(t *testing.T) {
	for given, wrong := range map[string]bool{
		"0.5": false, "1": false, "1e-3": false,
		"0": true, "-0.5": true, "1.5": true, "2": true, ".nan": true, "half": true, `"0.5"`: true,
	} {
		f := Parse("f.yaml", []byte("scenario: s\nsteps:\n- fault: {verb: get, probability: "+given+", effect: unavailable}\n"))
		err := f.Err()
		if got := err != nil; got != wrong {
			t.Errorf("%s: %v", given, err)
		} else if wrong && !strings.Contains(err.Error(), "f.yaml:3:35: ") {
			t.Errorf("%s: %v", given, err)
		}
	}
}
