package greeter_test

import (
	"testing"

	"github.com/fakecluster/fakecluster/benchmarks/weight/greeter"
	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestGreeter(t *testing.T) {
	greeter.Test(t, fakecluster.Start(t).RESTConfig())
}
