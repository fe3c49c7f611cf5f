package compare

import (
	"fmt"
	"strings"
	"testing"
)

// recorded is a test that keeps its errors.
type recorded struct {
	testing.TB
	errors []string
}

func (r *recorded) Helper() {}

func (r *recorded) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestEqualNamesWhatDiffers(t *testing.T) {
	r := &recorded{TB: t}
	Equal(r, "the ports", []int{80}, []int{80})
	if len(r.errors) > 0 {
		t.Errorf("equal values: %q", r.errors)
	}
	Equal(r, "the ports", []int{80}, []int{443})
	if len(r.errors) != 1 || !strings.HasPrefix(r.errors[0], "the ports (-want +got):\n") || !strings.Contains(r.errors[0], "443") {
		t.Errorf("different values: %q", r.errors)
	}
}
