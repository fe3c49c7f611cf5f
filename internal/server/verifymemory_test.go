package server

import (
	"testing"

	"github.com/fakecluster/fakecluster/internal/testing/memorytest"
)

// If the two had different names, no test would notice an object that a write altered.
func TestServersReadTheVerifyVariable(t *testing.T) {
	if verifyMemory != memorytest.Variable {
		t.Errorf("%s is set and %s is read", memorytest.Variable, verifyMemory)
	}
}
