package builtin

import "testing"

// A real server does not serve a version from the release on that its types name, whatever its flags say.
func TestNoVersionIsServedThatARealServerHasRemoved(t *testing.T) {
	for gv := range optional() {
		if isRemoved(gv) {
			t.Errorf("%s is removed in this release", gv)
		}
	}
}
