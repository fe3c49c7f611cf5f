package flowcontrol_test

import (
	"testing"

	"github.com/fakecluster/fakecluster/store/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
