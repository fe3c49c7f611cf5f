package scenarios

import (
	"strings"
	"testing"
)

// A fault that has never struck fails the scenario, as does one that cannot strike.
func TestFaultsHaveToStrike(t *testing.T) {
	for _, test := range []struct{ fault, want string }{
		{"{verb: update, resource: configmaps, effect: conflict}", "closing the cluster: "},
		{"{verb: update, resource: configmaps, effect: conflict, optional: true}", ""},
		{"{verb: update, resource: hats, effect: conflict}", `there is no resource "hats"`},
		{"{verb: get, resource: namespaces, times: 1, effect: unavailable}", "503 ServiceUnavailable"},
	} {
		f := parse("f.yaml", []byte("scenario: s\nsteps:\n- fault: "+test.fault+"\n- get: {apiVersion: v1, kind: Namespace, name: default}\n"))
		if err := join(f.mistakes); err != nil {
			t.Fatal(err)
		}
		failure := f.scenarios[0].Play(t.Context(), nil).Failure
		if test.want == "" && failure != nil || test.want != "" && (failure == nil || !strings.Contains(failure.Message, test.want)) {
			t.Errorf("%s: %v, want %s", test.fault, failure, test.want)
		}
	}
}

// A probability is a number above 0, up to 1.
func TestProbability(t *testing.T) {
	for given, wrong := range map[string]bool{
		"0.5": false, "1": false, "1e-3": false,
		"0": true, "-0.5": true, "1.5": true, "2": true, ".nan": true, "half": true, `"0.5"`: true,
	} {
		f := parse("f.yaml", []byte("scenario: s\nsteps:\n- fault: {verb: get, probability: "+given+", effect: unavailable}\n"))
		err := join(f.mistakes)
		if got := err != nil; got != wrong {
			t.Errorf("%s: %v", given, err)
		} else if wrong && !strings.Contains(err.Error(), "f.yaml:3:35: ") {
			t.Errorf("%s: %v", given, err)
		}
	}
}
