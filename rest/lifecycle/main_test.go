package lifecycle_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain fails if the tests leave a goroutine behind.
func TestMain(m *testing.M) {
	code := m.Run()
	left := goroutines()
	if code == 0 && left != "" {
		// The goroutine of a buntdb is there until the tick after Close. Nothing
		// else would tell of its end.
		<-time.NewTimer(1500 * time.Millisecond).C
		if left = goroutines(); left != "" {
			fmt.Fprintf(os.Stderr, "goroutines left behind:\n%s\n", left)
			code = 1
		}
	}
	os.Exit(code)
}

// goroutines returns the stacks of all goroutines but the caller's and those
// that the runtime, the testing package and imported libraries start by
// themselves.
func goroutines() string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	all := strings.Split(string(stacks), "\n\n")
	return strings.Join(slices.DeleteFunc(all[1:], func(g string) bool {
		for _, own := range []string{"os/signal.", "created by testing.", "internal/fuzz.", "k8s.io/klog/v2.", "go.opencensus.io/"} {
			if strings.Contains(g, own) {
				return true
			}
		}
		return false
	}), "\n\n")
}
