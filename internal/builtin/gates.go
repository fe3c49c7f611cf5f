package builtin

import (
	"fmt"
	"maps"
	"slices"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

// CheckFeatureGates refuses unknown feature gates, and values other than the defaults of the
// release: the gates belong to the process, so a cluster cannot have others.
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
