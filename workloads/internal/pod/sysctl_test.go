package pod

import (
	"runtime"
	"slices"
	"testing"

	"k8s.io/kubernetes/pkg/kubelet/sysctl"
)

// TestSafeSysctlsAreThoseOfUpstream proves that the list lacks none that upstream's has with the kernel of this machine.
func TestSafeSysctlsAreThoseOfUpstream(t *testing.T) {
	upstream := sysctl.SafeSysctlAllowlist(t.Context())
	for _, name := range upstream {
		if !slices.Contains(safeSysctls, name) {
			t.Errorf("%s is missing", name)
		}
	}
	if runtime.GOOS == "linux" && len(upstream) == 0 {
		t.Error("upstream has none")
	}
}
