// Package compare compares what a test got with what it wants.
package compare

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Equal fails a test if two values differ, with their difference. what names the value in a few words.
func Equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
