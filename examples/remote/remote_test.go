// Package remote has a test whose cluster runs in another process. It needs none of fakecluster's dependencies.
package remote

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

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

// TestMain builds the program from this repository. A suite of your own does not need it: remote finds or builds the program.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "fc-") // short enough for a socket
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	program := filepath.Join(folder, "bin", "fakecluster")
	build := exec.Command("go", "build", "-o", program, "./cmd/fakecluster")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building fakecluster: %v\n%s", err, out)
		return 1
	}
	os.Setenv("FAKECLUSTER", program)
	os.Setenv("XDG_CACHE_HOME", folder) // the host of this test ends a minute after it
	return m.Run()
}
