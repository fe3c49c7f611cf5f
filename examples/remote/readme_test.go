package remote

import (
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/remote"
)

func TestMyOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in it an hour takes no time
		c := remote.Start(t, remote.CRDPaths("config/crd"))
		cfg := &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}
		client := dynamic.NewForConfigOrDie(cfg) // or controller-runtime: any version
		_, err := client.Resource(cronTabs).Namespace("default").Create(t.Context(), cronTab("a"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	})
}
