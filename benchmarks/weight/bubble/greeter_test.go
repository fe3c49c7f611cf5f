package greeter_test

import (
	"testing"
	"testing/synctest"

	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/benchmarks/weight/greeter"
	"github.com/fakecluster/fakecluster/remote"
)

func TestGreeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := remote.Start(t)
		greeter.Test(t, &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1})
	})
}
