package greeter_test

import (
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/fakecluster/fakecluster/benchmarks/weight/greeter"
)

func TestGreeter(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS does not name the folder with envtest's binaries")
	}
	var cluster envtest.Environment
	config, err := cluster.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	}()
	greeter.Test(t, config)
}
