package state

import "testing"

func TestSameInOtherUnit(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{"1Gi", "1024Mi"}:  true,
		{"1", "1000m"}:     true,
		{"0.5", "500m"}:    true,
		{"5m", "300s"}:     true,
		{"1h0m0s", "60m"}:  true,
		{"1Gi", "1G"}:      false,
		{"1m", "2m"}:       false,
		{"1", "1.0"}:       false, // neither has a unit: they may be versions
		{"a1", "a1 "}:      false,
		{"", "0s"}:         false,
		{"3e2", "300"}:     true,
		{"1.2.3a", "1.2a"}: false,
	} {
		if got := SameInOtherUnit(pair[0], pair[1]); got != want {
			t.Errorf("%q and %q: %v", pair[0], pair[1], got)
		}
		if got := SameInOtherUnit(pair[1], pair[0]); got != want {
			t.Errorf("%q and %q: %v", pair[1], pair[0], got)
		}
	}
}
