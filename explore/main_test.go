package explore_test

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/internal/testing/leaktest"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // reflectors complain of what the tests do to them
	if os.Getenv(child) != "" {
		os.Exit(m.Run()) // it may leave goroutines on purpose
	}
	leaktest.Main(m)
}
