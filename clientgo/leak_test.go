package clientgo

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// TestMain fails the package if a test left a goroutine behind.
func TestMain(m *testing.M) {
	// See the package documentation: the last handler sleeps by a clock that does
	// not survive the way into a bubble.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:len(utilruntime.ErrorHandlers)-1]

	klog.SetLogger(logr.Discard()) // reflectors complain of what the tests do to them

	code := m.Run()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if left := goroutinesLeft(); code == 0 && left != "" {
		fmt.Fprintf(os.Stderr, "goroutines left behind:\n\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// goroutinesLeft returns the stacks of all goroutines but the caller's, once those
// that are ending have had time to.
func goroutinesLeft() string {
	buf := make([]byte, 1<<20)
	for deadline := time.Now().Add(5 * time.Second); ; runtime.Gosched() {
		stacks := strings.SplitN(string(buf[:runtime.Stack(buf, true)]), "\n\n", 2)
		if len(stacks) == 1 {
			return ""
		}
		if time.Now().After(deadline) {
			return stacks[1]
		}
	}
}
