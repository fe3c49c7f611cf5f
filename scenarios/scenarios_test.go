package scenarios_test

import (
	"testing"

	"github.com/fakecluster/fakecluster/scenarios"
)

// The project's own scenarios are the folders beside this file.
func TestProject(t *testing.T) { scenarios.Run(t, ".") }
