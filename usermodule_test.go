package fakecluster_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// TestAUsersModuleStaysHealthy makes a module that requires this one and has no pins of
// its own, and does with it what its author would. k8s.io/kubernetes asks for its sibling
// modules at a version that does not exist: internal/builtin/pins.go says what keeps that
// from reaching users.
func TestAUsersModuleStaysHealthy(t *testing.T) {
	if seedtest.RaceDetector {
		t.Skip("the module is built without the race detector, as in the run before")
	}
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/operator\n\ngo 1.26.0\n\n" +
			"require github.com/fakecluster/fakecluster v0.0.0\n\nreplace github.com/fakecluster/fakecluster => " + root + "\n",
		// A module that go.mod does not name: tidy must take fakecluster's version, and not the latest one.
		"operator.go": "package operator\n\nimport _ \"github.com/go-logr/logr\"\n",
		"operator_test.go": `package operator

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestOperator(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(fakecluster.Start(t).RESTConfig())
	_, err := client.CoreV1().Services("default").Create(context.Background(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, arguments := range []string{"mod tidy", "list -m all", "test -vet=off ./..."} {
		command := exec.Command("go", strings.Fields(arguments)...)
		command.Dir = folder
		command.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", arguments, err, out)
		}
	}
	versions := map[string]string{}
	for _, module := range []string{folder, root} {
		command := exec.Command("go", "list", "-m", "github.com/go-logr/logr")
		command.Dir = module
		command.Env = append(os.Environ(), "GOWORK=off")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		versions[module] = string(out)
	}
	if versions[folder] != versions[root] {
		t.Errorf("the module has %s, and fakecluster %s: Kubernetes is compiled anew", versions[folder], versions[root])
	}
}
