package release

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	metricsfeatures "k8s.io/component-base/metrics/features"
	controllermanagerfeatures "k8s.io/controller-manager/pkg/features"
	"k8s.io/kubernetes/pkg/features" // registers the gates of Kubernetes before this package sets them
)

// GatesVariable is the environment variable with feature gates, such as "ContainerStopSignals=true,HPAScaleToZero=false".
// Default: those of the version.
const GatesVariable = "FAKECLUSTER_FEATURE_GATES"

// unsupported lists the feature gates that cannot be changed, by the area they affect. fakecluster has its own code for these areas.
// Kubernetes' own code reads all other gates, or they make no difference to a client.
var unsupported = map[string][]featuregate.Feature{
	"how requests are served": {
		"APIResponseCompression", "CBORServingAndStorage", "RemoteRequestHeaderUID", "ShardedListAndWatch", "StorageVersionHash",
		"UnauthenticatedHTTP2DOSMitigation", "UnknownVersionInteroperabilityProxy", "WatchList",
	},
	"streams to containers": {
		"AuthorizePodWebsocketUpgradeCreatePermission", "ExtendWebSocketsToKubelet", "PortForwardWebsockets", "TranslateStreamCloseWebsocketRequests",
	},
	"kinds that are not served":               {"CompositePodGroup", "EvictionRequestAPI", features.GenericWorkload, "StorageVersionAPI"},
	"objects that a server writes for itself": {"APIServerIdentity", "CoordinatedLeaderElection"},
	"tokens, encryption and manifests":        {"APIServerWebhookAuthenticationToken", "KMSv1", "ManifestBasedAdmissionControlConfig"},
	"gates that cannot be changed":            {"AllAlpha", "AllBeta"},
}

// ParseGates reads the values of --feature-gates, each with gates such as "A=true,B=false".
func ParseGates(values ...string) (map[string]bool, error) {
	gates := map[string]bool{}
	for _, one := range strings.Split(strings.Join(values, ","), ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		name, value, found := strings.Cut(one, "=")
		if !found {
			return nil, fmt.Errorf("missing bool value for %s", name)
		}
		// A real server knows the gates of several components; "kube" is the default.
		name = strings.TrimPrefix(name, "kube:")
		value = strings.TrimSpace(value)
		on, err := strconv.ParseBool(value)
		if err != nil {
			return nil, fmt.Errorf("invalid value of %s=%s, err: %w", name, value, err)
		}
		gates[name] = on
	}
	return gates, nil
}

// FormatGates returns gates as ParseGates reads them, by name.
func FormatGates(gates map[string]bool) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		lines = append(lines, fmt.Sprintf("%s=%t", name, gates[name]))
	}
	return strings.Join(lines, ",")
}

// setGates sets gates for the process.
func setGates(text string) error {
	gates, err := ParseGates(text)
	if err != nil {
		return err
	}
	change, err := Change(gates)
	if err != nil || len(change) == 0 {
		return err
	}
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(change)
}

// Change returns the gates that have another value in this process. It returns an error for a gate that does not exist
// or cannot be changed.
func Change(gates map[string]bool) (map[string]bool, error) {
	features, known := utilfeature.DefaultMutableFeatureGate.GetAll(), utilfeature.DefaultMutableFeatureGate.GetAllVersioned()
	// Packages that are not imported add these to the gates of kube-apiserver. The gates of the process may
	// have been added to its flags, and then nothing can be added to them or to a copy.
	others := featuregate.NewFeatureGate()
	if err := errors.Join(metricsfeatures.AddFeatureGates(others), controllermanagerfeatures.SetupCurrentKubernetesSpecificFeatureGates(others)); err != nil {
		return nil, err
	}
	change := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		gate, value := featuregate.Feature(name), gates[name]
		spec := features[gate] // not of those that came after the emulated version
		_, found := known[gate]
		other, isOther := others.GetAll()[gate]
		switch reason := whyUnsupported(gate); {
		case !found && !isOther:
			return nil, fmt.Errorf("unrecognized feature gate: %s", name)
		case !found && other.Default != value:
			return nil, fmt.Errorf("fakecluster cannot set feature gate %s to %t: it belongs to a component that fakecluster does not have", name, value)
		case !found, utilfeature.DefaultFeatureGate.Enabled(gate) == value:
		case spec.LockToDefault:
			return nil, fmt.Errorf("cannot set feature gate %s to %t, feature is locked to %t", name, value, spec.Default)
		case reason != "":
			return nil, fmt.Errorf("fakecluster cannot set feature gate %s to %t: it changes %s", name, value, reason)
		default:
			change[name] = value
		}
	}
	return change, nil
}

// whyUnsupported returns the area that a gate affects, if the gate cannot be changed.
func whyUnsupported(gate featuregate.Feature) string {
	for what, gates := range unsupported {
		if slices.Contains(gates, gate) {
			return what
		}
	}
	return ""
}

// CheckGates returns an error if a cluster in this process cannot have the gates.
func CheckGates(gates map[string]bool) error {
	change, err := Change(gates)
	if err != nil || len(change) == 0 {
		return err
	}
	return fmt.Errorf("--feature-gates=%s: upstream's feature gates belong to the process: set %s=%[1]s before it starts", FormatGates(change), GatesVariable)
}
