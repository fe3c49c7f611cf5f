package scenarios

import (
	"testing"

	"github.com/fakecluster/fakecluster/internal/resource/memorytest"
	"github.com/fakecluster/fakecluster/store/leaktest"
)

func TestMain(m *testing.M) {
	memorytest.Verify()
	leaktest.Main(m)
}
