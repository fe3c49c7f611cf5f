package player

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

type closer func() error

func (c closer) Close() error { return c() }

// TestScenariosWithWorkloads proves that what makes a cluster live gets what the scenario describes, and that a failure of it is one of the
// scenario.
func TestScenariosWithWorkloads(t *testing.T) {
	f := syntax.Parse("f.yaml", []byte("scenario: s\nworkloads:\n  behaviors: [{image: a, readyDelay: 5s}]\n  controllers: []\nsteps:\n- get: {path: /healthz}\n"))
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	got := ""
	live := func(end error) Live {
		return func(_ *fakecluster.Cluster, config []byte) (io.Closer, error) {
			got = string(config)
			return closer(func() error { return end }), nil
		}
	}
	for _, test := range []struct {
		name string
		live Live
		want string
	}{
		{"nothing can make it live", nil, "f.yaml:1: the scenario has workloads: give scenarios.Run the option scenarios.WithWorkloads(workloads.FromYAML), with package github.com/fakecluster/fakecluster/workloads"},
		{"it does not begin", func(*fakecluster.Cluster, []byte) (io.Closer, error) { return nil, errors.New("no controller x") }, "f.yaml:1: workloads: no controller x"},
		{"it ends badly", live(errors.New("a behavior has applied to no container")), "f.yaml:1: workloads: a behavior has applied to no container"},
		{"it lives", live(nil), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			message := ""
			if failure := (Player{Live: test.live}).Play(t.Context(), f.Scenarios[0], nil).Failure; failure != nil {
				message = strings.TrimSpace(failure.String())
			}
			if message != test.want {
				t.Errorf("the failure is\n%s\nwant\n%s", message, test.want)
			}
		})
	}
	if want := `{"behaviors":[{"image":"a","readyDelay":"5s"}],"controllers":[]}`; got != want {
		t.Errorf("the configuration is %s, want %s", got, want)
	}
}
