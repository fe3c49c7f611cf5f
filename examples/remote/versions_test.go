package remote

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// versions are the versions of controller-runtime that the file to copy is tested with.
var versions = []string{"0.18.7", "0.20.4", "0.22.4", "0.25.2"}

// The file is copied into a module with each version of controller-runtime, beside a test of a controller and a webhook, in a bubble and outside.
func TestVersionsOfControllerRuntime(t *testing.T) {
	if testing.Short() {
		t.Skip("each version is compiled")
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			testWith(t, version, "managertest/managertest.go", "managertest/testdata/versions/operator_test.go")
		})
	}
}

// The operator of examples/website is explored with controller-runtime 0.20: it has no findings, and a planted mistake is one.
func TestExploreWithAnOlderControllerRuntime(t *testing.T) {
	if testing.Short() {
		t.Skip("the version is compiled")
	}
	folder, err := filepath.Abs("../website")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("WEBSITE", folder)
	files := []string{"testdata/website/older.go", "testdata/website/explore_test.go"}
	for _, name := range []string{"children.go", "reconciler.go", "registry.go", "status.go", "types.go", "zz_generated.deepcopy.go"} {
		files = append(files, filepath.Join(folder, name))
	}
	testWith(t, "0.20.4", files...)
}

// testWith runs the tests of files in a module with a version of controller-runtime.
func testWith(t *testing.T, version string, files ...string) {
	t.Helper()
	remote, err := filepath.Abs("../../remote")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, filepath.Base(file)), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	module := fmt.Sprintf("module example.com/test\n\ngo 1.25.0\n\nreplace github.com/fakecluster/fakecluster/remote => %s\n\nrequire sigs.k8s.io/controller-runtime v%s\n", remote, version)
	if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte(module), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := buildCache(t)
	for _, args := range [][]string{{"mod", "tidy"}, {"list", "-m", "sigs.k8s.io/controller-runtime"}, {"test", "-vet=off", "-v", "."}} {
		command := exec.Command("go", args...)
		command.Dir = folder
		command.Env = append(os.Environ(), "GOCACHE="+cache, "GOFLAGS=-mod=mod")
		text, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, text)
		}
		if want := "sigs.k8s.io/controller-runtime v" + version + "\n"; args[0] == "list" && string(text) != want {
			t.Fatalf("the module has %s, want %s", text, want)
		}
	}
}

// buildCache returns the user's build cache, although the tests have a cache folder of their own.
func buildCache(t *testing.T) string {
	t.Helper()
	command := exec.Command("go", "env", "GOCACHE")
	command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "XDG_CACHE_HOME=") })
	text, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(text))
}
