package fakecluster_test

import (
	"net/http"
	"os"
	"testing"

	"github.com/go-logr/logr"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/internal/testing/leaktest"
	"github.com/fakecluster/fakecluster/internal/testing/memorytest"
)

// TestMain fails the package if a test left a goroutine behind.
func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // reflectors complain of what the tests do to them
	clientrest.SetDefaultWarningHandler(clientrest.NoWarnings{})

	memorytest.Verify()
	code := m.Run()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	os.Exit(leaktest.Check(code))
}
