// Package remote has a test whose cluster runs in another process. It needs none of fakecluster's dependencies.
package remote

import (
	"os"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/examples/internal/program"
	"github.com/fakecluster/fakecluster/remote"
	"github.com/fakecluster/fakecluster/remote/faults"
)

var cronTabs = schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"}

func cronTab(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"cronSpec": "* * * * */5", "image": "app:1"},
	}}
}

func TestARetryAfterAConflict(t *testing.T) {
	c := remote.Start(t, remote.CRDPaths("../../scenarios/crontab"))
	cfg := &rest.Config{Host: c.URL(), BearerToken: c.Token(), QPS: -1}
	client := dynamic.NewForConfigOrDie(cfg).Resource(cronTabs).Namespace("default")
	made, err := client.Create(t.Context(), cronTab("a"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	c.Inject(faults.Fault{Verb: "update", Resource: "crontabs.stable.example.com", Times: 1, Effect: faults.Conflict()})
	unstructured.SetNestedField(made.Object, "app:2", "spec", "image")
	if _, err := client.Update(t.Context(), made, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("the first update: %v", err)
	}
	if _, err := client.Update(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
	c.WaitFor(t, cronTab("a"), remote.CEL("object.spec.image == 'app:2'"))
}

func TestMain(m *testing.M) { os.Exit(program.Run(m)) }
