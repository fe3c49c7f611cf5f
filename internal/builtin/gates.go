package builtin

import (
	"fmt"
	"maps"
	"slices"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

// CheckFeatureGates refuses feature gates that there are not, and values that a server of the
// release does not have by default: the gates are the process's, and a cluster cannot have others.
func CheckFeatureGates(gates map[string]bool) error {
	all := utilfeature.DefaultMutableFeatureGate.GetAll()
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		spec, known := all[featuregate.Feature(name)]
		switch {
		case !known:
			return fmt.Errorf("unrecognized feature gate: %s", name)
		case spec.Default != gates[name] && spec.LockToDefault:
			return fmt.Errorf("cannot set feature gate %s to %t, feature is locked to %t", name, gates[name], spec.Default)
		case spec.Default != gates[name]:
			return fmt.Errorf("fakecluster cannot set feature gate %s to %t: its gates are as a server has them by default", name, gates[name])
		}
	}
	return nil
}
