package greeter_test

import (
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/fakecluster/fakecluster/benchmarks/weight/greeter"
	"github.com/fakecluster/fakecluster/remote"
)

func TestGreeter(t *testing.T) {
	kubeconfig, err := remote.Start(t).Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	greeter.Test(t, config)
}
