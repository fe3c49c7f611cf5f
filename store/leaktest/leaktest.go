// Package leaktest fails the tests of a package that leave a goroutine behind, and
// so those that leave a store, a server or a watch open:
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

// grace is how long goroutines may take to end. The one of each buntdb is there
// until its next tick, a second after Close at most, and nothing else would tell of
// its end.
const grace = 5 * time.Second

// Main runs the tests of a package and ends the process.
func Main(m *testing.M) { os.Exit(Check(m.Run())) }

// Check is the exit code of tests that ended with a code: 1 if they pass but leave
// goroutines behind, of which it tells on stderr.
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

// Left is the stacks of the goroutines that do not end.
func Left() string {
	left := Goroutines()
	for deadline := time.Now().Add(grace); left != "" && time.Now().Before(deadline); left = Goroutines() {
		runtime.Gosched()
	}
	return left
}

// process are texts in the stacks of goroutines that live as long as the process:
// those of the testing package and of imported libraries.
var process = []string{"os/signal.", "created by testing.", "testing.(*M).", "internal/fuzz.", "k8s.io/klog/v2.", "go.opencensus.io/"}

// Goroutines is the stacks of all goroutines but the caller's, those of the process
// and those with one of the given texts in them; empty if there is none.
func Goroutines(but ...string) string {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	all := strings.Split(string(stacks), "\n\n")
	return strings.Join(slices.DeleteFunc(all[1:], func(stack string) bool {
		in := func(text string) bool { return strings.Contains(stack, text) }
		return slices.ContainsFunc(process, in) || slices.ContainsFunc(but, in)
	}), "\n\n")
}
