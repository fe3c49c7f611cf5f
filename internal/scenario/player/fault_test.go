package player

import (
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// A fault that has never struck fails the scenario, as does one that cannot strike.
func TestAFaultThatNeverOccursFailsTheScenario(t *testing.T) {
	for _, test := range []struct{ fault, want string }{
		{"{verb: update, resource: configmaps, effect: conflict}", "closing the cluster: "},
		{"{verb: update, resource: configmaps, effect: conflict, optional: true}", ""},
		{"{verb: update, resource: hats, effect: conflict}", `there is no resource "hats"`},
		{"{verb: get, resource: namespaces, times: 1, effect: unavailable}", "503 ServiceUnavailable"},
	} {
		f := syntax.Parse("f.yaml", []byte("scenario: s\nsteps:\n- fault: "+test.fault+"\n- get: {apiVersion: v1, kind: Namespace, name: default}\n"))
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
		failure := Play(t.Context(), f.Scenarios[0], nil).Failure
		if test.want == "" && failure != nil || test.want != "" && (failure == nil || !strings.Contains(failure.Message, test.want)) {
			t.Errorf("%s: %v, want %s", test.fault, failure, test.want)
		}
	}
}
