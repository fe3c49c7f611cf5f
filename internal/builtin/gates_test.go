package builtin

import "testing"

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
