package scenarios_test

import (
	"testing"

	"github.com/fakecluster/fakecluster/scenarios"
	"github.com/fakecluster/fakecluster/workloads"
)

// The project's own scenarios are the folders beside this file.
func TestProject(t *testing.T) { scenarios.Run(t, ".", scenarios.WithWorkloads(workloads.FromYAML)) }
