package pod_test

import (
	"testing"

	"github.com/fakecluster/fakecluster/internal/testing/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
