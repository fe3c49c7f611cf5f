package clientgo

import (
	"net/http"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/internal/testing/leaktest"
	"github.com/fakecluster/fakecluster/internal/testing/memorytest"
)

// TestMain fails the package if a test left a goroutine behind.
func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // reflectors complain of what the tests do to them

	memorytest.Verify()
	code := m.Run()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	os.Exit(leaktest.Check(code))
}
