package host_test

import (
	"testing"

	"github.com/fakecluster/fakecluster/internal/testing/leaktest"
	"github.com/fakecluster/fakecluster/internal/testing/memorytest"
)

func TestMain(m *testing.M) {
	memorytest.Verify()
	leaktest.Main(m)
}
