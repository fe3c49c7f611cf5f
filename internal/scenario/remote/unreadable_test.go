package remote

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/scenario/player"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// What a scenario leaves unreadable does not keep its definition from its end: what a version left that was
// taken away, and what a webhook that is gone would have to convert.
func TestWhatCannotBeReadIsDeleted(t *testing.T) {
	real := fakecluster.Start(t, fakecluster.InProcess())
	scenarios, err := syntax.Load("../../../scenarios/versions/removed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// Without the steps that clean up.
	s := scenarios[0]
	s.Steps = s.Steps[:5]
	player.Player{Start: NewStarter(real.RESTConfig()), Remote: true}.PlayAll(t.Context(), []*syntax.Scenario{s}, func(r player.Result) {
		if r.Failure != nil {
			t.Error(r.Failure)
		}
	})
	left := player.Player{Start: NewStarter(real.RESTConfig()), Remote: true}
	f := syntax.Parse("f.yaml", []byte("scenario: s\nsteps:\n- count: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}\n  expect: 0\n"))
	left.PlayAll(t.Context(), f.Scenarios, func(r player.Result) {
		if r.Failure != nil {
			t.Error(r.Failure)
		}
	})
}

func TestTheErrorOfAListNamesWhatCannotBeRead(t *testing.T) {
	text := `{"details": {"causes": [{"field": "/registry/g/plurals/ns/a"}, {"field": "/registry/g/plurals/b"}, {"field": "/registry/g/others/c"}, {}]}}`
	if d := cmp.Diff([][2]string{{"ns", "a"}, {"", "b"}}, unreadable([]byte(text), "g", "plurals")); d != "" {
		t.Errorf("objects (-want +got):\n%s", d)
	}
}
