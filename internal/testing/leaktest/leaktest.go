// Package leaktest fails the tests of a package if they leave a goroutine behind. So it finds
// stores, servers and watches that a test has not closed:
//
//	func TestMain(m *testing.M) { leaktest.Main(m) }
package leaktest

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// grace is how long goroutines may take to end. That of a buntdb ends up to a second after
// its Close, and nothing reports when it has ended.
const grace = time.Minute

// Main runs the tests of a package and ends the process.
func Main(m *testing.M) { os.Exit(Check(m.Run())) }

// Check returns the exit code of a test binary whose tests ended with a code. If they passed
// but left goroutines behind, it prints those to stderr and returns 1.
func Check(code int) int {
	if code != 0 {
		return code
	}
	left := Left()
	if left == "" {
		return 0
	}
	fmt.Fprintf(os.Stderr, "goroutines left behind:\n\n%s\n", left)
	return 1
}

// Left waits for goroutines to end, at most a minute, and returns the stacks of those that
// do not.
func Left() string {
	left := Goroutines()
	for deadline := time.Now().Add(grace); left != "" && time.Now().Before(deadline); left = Goroutines() {
		runtime.Gosched()
	}
	return left
}

// process has texts in the stacks of goroutines that run as long as the process: those of the
// testing package and of imported libraries.
var process = []string{"os/signal.", "created by testing.", "testing.(*M).", "internal/fuzz.", "k8s.io/klog/v2.", "go.opencensus.io/"}

// Goroutines returns the stacks of all goroutines, except for the caller's, those of the
// process, and those whose stack contains one of the given texts. It is empty if there are
// none.
func Goroutines(but ...string) string {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	goroutines := strings.Split(string(stacks), "\n\n")
	return strings.Join(slices.DeleteFunc(goroutines[1:], func(stack string) bool {
		in := func(text string) bool { return strings.Contains(stack, text) }
		return slices.ContainsFunc(process, in) || slices.ContainsFunc(but, in)
	}), "\n\n")
}
