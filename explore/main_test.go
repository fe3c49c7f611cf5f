package explore_test

import (
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/internal/testing/leaktest"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // reflectors complain of what the tests do to them
	leaktest.Main(m)
}
