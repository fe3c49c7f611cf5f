package scenarios

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain fails if a scenario leaves a goroutine behind.
func TestMain(m *testing.M) {
	code := m.Run()
	left := goroutines()
	// The connections to webhooks end when their other side has, and nothing tells of it.
	for deadline := time.Now().Add(5 * time.Second); left != "" && time.Now().Before(deadline); left = goroutines() {
		runtime.Gosched()
	}
	if code == 0 && left != "" {
		fmt.Fprintf(os.Stderr, "goroutines left behind:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// goroutines returns the stacks of all goroutines but the caller's, those of the
// runtime and of testing, and those that live as long as the process: klog's, and
// buntdb's, which ends at its own tick, up to a second after Close.
func goroutines() string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	all := strings.Split(string(stacks), "\n\n")
	return strings.Join(slices.DeleteFunc(all[1:], func(g string) bool {
		return slices.ContainsFunc([]string{
			"os/signal.", "created by testing.", "internal/fuzz.", "k8s.io/klog/v2.", "go.opencensus.io/", "buntdb.(*DB).backgroundManager",
		}, func(own string) bool { return strings.Contains(g, own) })
	}), "\n\n")
}
