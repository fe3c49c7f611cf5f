package clientgo

import (
	"net/http"
	"os"
	"testing"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/internal/testing/leaktest"
	"github.com/fakecluster/fakecluster/internal/testing/memorytest"
)

// TestMain fails the package if a test left a goroutine behind.
func TestMain(m *testing.M) {
	// See the package documentation: the last handler sleeps by a clock that does
	// not survive the way into a bubble.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:len(utilruntime.ErrorHandlers)-1]

	klog.SetLogger(logr.Discard()) // reflectors complain of what the tests do to them

	memorytest.Verify()
	code := m.Run()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	os.Exit(leaktest.Check(code))
}
