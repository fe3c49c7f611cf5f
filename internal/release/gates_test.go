package release

import (
	"maps"
	"testing"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

func TestFlagsOfGates(t *testing.T) {
	for _, c := range []struct {
		rule, flag, want string
	}{
		{"a default is accepted", "AllAlpha=false", ""},
		{"one that is on may be said to be on", "kube:WatchList=true", ""},
		{"one of controllers is accepted", "ControllerManagerReleaseLeaderElectionLockOnExit=false", ""},
		{"one of metrics is accepted", "NativeHistograms=true", ""},
		{"one of metrics cannot be changed", "NativeHistograms=false", "fakecluster cannot set feature gate NativeHistograms to false: it belongs to a component that fakecluster does not have"},
		{"one that Kubernetes' code reads needs a new process", "PodDeletionCost=false,ContainerStopSignals=true,WatchList=true",
			"--feature-gates=ContainerStopSignals=true,PodDeletionCost=false: upstream's feature gates belong to the process: set FAKECLUSTER_FEATURE_GATES=ContainerStopSignals=true,PodDeletionCost=false before it starts"},
		{"one that fakecluster's own code replaces is refused by name", "WatchList=false", "fakecluster cannot set feature gate WatchList to false: it changes how requests are served"},
		{"so are all at once", "AllAlpha=true", "fakecluster cannot set feature gate AllAlpha to true: it changes gates that cannot be changed"},
		{"one that is locked says so as a real server", "InPlacePodVerticalScaling=false", "cannot set feature gate InPlacePodVerticalScaling to false, feature is locked to true"},
		{"an unknown gate is an error", "Teleport=true", "unrecognized feature gate: Teleport"},
		{"a value is needed", "WatchList", "missing bool value for WatchList"},
		{"it is a boolean", "WatchList=maybe", `invalid value of WatchList=maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax`},
	} {
		got := ""
		gates, err := ParseGates(c.flag)
		if err == nil {
			err = CheckGates(gates)
		}
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.rule, got, c.want)
		}
	}
}

func TestGatesAreFormattedAsTheyAreRead(t *testing.T) {
	want := map[string]bool{"A": true, "B": false}
	text := FormatGates(want)
	if got, err := ParseGates(text); text != "A=true,B=false" || err != nil || !maps.Equal(got, want) {
		t.Errorf("%q is read as %v, %v", text, got, err)
	}
}

// A typo in the list would let a gate be set that makes no difference.
func TestUnsupportedGatesExist(t *testing.T) {
	specs := utilfeature.DefaultMutableFeatureGate.GetAll()
	for what, gates := range unsupported {
		for _, gate := range gates {
			if spec, found := specs[gate]; !found || spec.LockToDefault {
				t.Errorf("%s: gate %s does not exist or is locked", what, gate)
			}
		}
	}
}

// A program may have added the gates of the process to its flags before it starts a cluster.
func TestGatesOfTheProcessMayBeFlags(t *testing.T) {
	utilfeature.DefaultMutableFeatureGate.AddFlag(pflag.NewFlagSet("", pflag.ContinueOnError))
	if err := CheckGates(map[string]bool{"NativeHistograms": true}); err != nil {
		t.Error(err)
	}
}
