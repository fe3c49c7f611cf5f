package builtin

import (
	"testing"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

func TestFeatureGatesHaveTheirDefaults(t *testing.T) {
	for _, c := range []struct {
		rule, name string
		value      bool
		want       string
	}{
		{"a default is accepted", "AllAlpha", false, ""},
		{"one that is on may be said to be on", "WatchList", true, ""},
		{"one of controllers is accepted", "ControllerManagerReleaseLeaderElectionLockOnExit", false, ""},
		{"one of metrics is accepted", "NativeHistograms", true, ""},
		{"another value is refused by name", "AllAlpha", true, "fakecluster cannot set feature gate AllAlpha to true: its gates are as a server has them by default"},
		{"a gate that is locked says so as a real server", "InPlacePodVerticalScaling", false, "cannot set feature gate InPlacePodVerticalScaling to false, feature is locked to true"},
		{"an unknown gate is an error", "Teleport", true, "unrecognized feature gate: Teleport"},
	} {
		got := ""
		if err := CheckFeatureGates(map[string]bool{c.name: c.value}); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.rule, got, c.want)
		}
	}
}

// A program may have added the gates of the process to its flags before it starts a cluster.
func TestGatesOfTheProcessMayBeFlags(t *testing.T) {
	utilfeature.DefaultMutableFeatureGate.AddFlag(pflag.NewFlagSet("", pflag.ContinueOnError))
	if err := CheckFeatureGates(map[string]bool{"NativeHistograms": true}); err != nil {
		t.Error(err)
	}
}
