package builtin

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	metricsfeatures "k8s.io/component-base/metrics/features"
	controllermanagerfeatures "k8s.io/controller-manager/pkg/features"
)

// CheckFeatureGates refuses unknown feature gates, and values other than the defaults of the
// release: the gates belong to the process, so a cluster cannot have others.
func CheckFeatureGates(gates map[string]bool) error {
	all := utilfeature.DefaultMutableFeatureGate.GetAll()
	// Packages that are not imported add these to the gates of kube-apiserver. The gates of the process may
	// have been added to its flags, and then nothing can be added to them or to a copy.
	others := featuregate.NewFeatureGate()
	if err := errors.Join(metricsfeatures.AddFeatureGates(others), controllermanagerfeatures.SetupCurrentKubernetesSpecificFeatureGates(others)); err != nil {
		return err
	}
	maps.Copy(all, others.GetAll())
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		spec, found := all[featuregate.Feature(name)]
		switch {
		case !found:
			return fmt.Errorf("unrecognized feature gate: %s", name)
		case spec.Default != gates[name] && spec.LockToDefault:
			return fmt.Errorf("cannot set feature gate %s to %t, feature is locked to %t", name, gates[name], spec.Default)
		case spec.Default != gates[name]:
			return fmt.Errorf("fakecluster cannot set feature gate %s to %t: its gates are as a server has them by default", name, gates[name])
		}
	}
	return nil
}
