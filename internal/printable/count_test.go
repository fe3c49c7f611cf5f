package printable_test

import (
	"testing"

	"github.com/fakecluster/fakecluster/internal/printable"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 requests", 1: "1 request", 2: "2 requests"} {
		if got := printable.Count(n, "request"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
