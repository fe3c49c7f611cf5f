package fakecluster_test

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// TestMain fails the package if a test left a goroutine behind.
func TestMain(m *testing.M) {
	// The last handler sleeps by a clock that does not survive the way into a
	// bubble: see the documentation of package clientgo.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:len(utilruntime.ErrorHandlers)-1]

	klog.SetLogger(logr.Discard()) // reflectors complain of what the tests do to them
	clientrest.SetDefaultWarningHandler(clientrest.NoWarnings{})

	code := m.Run()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if left := goroutinesLeft(); code == 0 && left != "" {
		fmt.Fprintf(os.Stderr, "goroutines left behind:\n\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// goroutinesLeft returns the stacks of the goroutines that do not end. The one of
// each buntdb is there until its next tick, a second after Close at most, and
// nothing else would tell of its end.
func goroutinesLeft() string {
	left := goroutines("")
	for deadline := time.Now().Add(5 * time.Second); left != "" && time.Now().Before(deadline); left = goroutines("") {
		runtime.Gosched()
	}
	return left
}

// goroutines returns the stacks of all goroutines but the caller's, those of the
// testing package and those with the given text in them.
func goroutines(but string) string {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	all := strings.Split(string(stacks), "\n\n")
	return strings.Join(slices.DeleteFunc(all[1:], func(g string) bool {
		return strings.Contains(g, "created by testing.") || strings.Contains(g, "os/signal.") ||
			strings.Contains(g, "testing.(*M).") || but != "" && strings.Contains(g, but)
	}), "\n\n")
}
