package bubble

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
)

// lookups is the name of a variable that makes TestLookUp look up a name, in a process of its own.
const lookups = "FAKECLUSTER_TEST_LOOKUPS"

// TestLookUp is run by TestBubblesLookUpTheSameName.
func TestLookUp(t *testing.T) {
	if os.Getenv(lookups) == "" {
		t.Skip("it is run by TestBubblesLookUpTheSameName")
	}
	for bubble := range 2 {
		t.Run(fmt.Sprint(bubble), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for range 2_000 {
					if c, err := DialContext(t.Context(), "tcp", "localhost:1"); err == nil {
						_ = c.Close()
					}
				}
			})
		})
	}
}

// Lookups in two bubbles at the same time neither share channels of the process nor those of each other.
func TestBubblesLookUpTheSameName(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLookUp$", "-test.parallel=2")
	cmd.Env = append(os.Environ(), lookups+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v, output:\n%.2000s", err, out)
	}
}
