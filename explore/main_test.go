package explore_test

import (
	"testing"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/internal/testing/leaktest"
)

func TestMain(m *testing.M) {
	// The last handler sleeps by the time of the process, which does not pass in a bubble.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:len(utilruntime.ErrorHandlers)-1]
	klog.SetLogger(logr.Discard()) // reflectors complain of what the tests do to them
	leaktest.Main(m)
}
