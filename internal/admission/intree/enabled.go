package intree

import (
	"fmt"
	"slices"
)

// offByDefault are the plugins that a real server has and that are off unless
// --enable-admission-plugins names them.
var offByDefault = []string{
	"AlwaysAdmit", "AlwaysDeny", "AlwaysPullImages", "DenyServiceExternalIPs", "EventRateLimit", "ExtendedResourceToleration",
	"ImagePolicyWebhook", "LimitPodHardAntiAffinityTopology", "NamespaceAutoProvision", "NamespaceExists", "NodeRestriction",
	"OwnerReferencesPermissionEnforcement", "PodNodeSelector", "PodTolerationRestriction",
}

// CheckEnabled refuses plugins that are to be on and that fakecluster does not have. Those that
// are on by default may be named.
func CheckEnabled(names []string) error {
	for _, name := range names {
		i := slices.IndexFunc(ordered, func(p plugin) bool { return p.name == name })
		switch {
		case i >= 0 && ordered[i].state != missing:
		case i >= 0 || slices.Contains(offByDefault, name):
			return fmt.Errorf("fakecluster does not have the admission plugin %s", name)
		default:
			return fmt.Errorf("enable-admission-plugins plugin %q is unknown", name)
		}
	}
	return nil
}
