package greeter_test

import (
	"testing"

	"github.com/fakecluster/fakecluster/benchmarks/weight/greeter"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

func TestGreeter(t *testing.T) {
	c := fakecluster.Start(t)
	workloads.Run(t, c, workloads.Nodes(1))
	greeter.Test(t, c.RESTConfig())
}
