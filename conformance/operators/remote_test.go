package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/conformance/gotool"
)

// A suite gets a file that starts a cluster of module remote, and its module, of any version of Go, gets module remote; no file of the
// module changes.
func TestSuitesStartAClusterOfModuleRemote(t *testing.T) {
	module := t.TempDir()
	files := map[string]string{
		"go.mod":                   "module example.com/operator\n\ngo 1.22\n",
		"go.sum":                   "",
		"test/suite/suite_test.go": "package suite\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n",
	}
	for name, content := range files {
		path := filepath.Join(module, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	remote, err := filepath.Abs("../../remote")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join("test", "suite")
	added, err := startingRemote(filepath.Join(module, folder))
	if err != nil {
		t.Fatal(err)
	}
	flags, err := withRemote(t.Context(), t.TempDir(), remote, module, folder, added)
	if err != nil {
		t.Fatal(err)
	}
	list := append(append([]string{"list", "-mod=mod"}, flags...), "-f", "{{.TestGoFiles}} {{.TestImports}}", ".")
	out, err := gotool.Output(t.Context(), filepath.Join(module, folder), list...)
	if want := "[aaa_remote_test.go suite_test.go] [github.com/fakecluster/fakecluster/remote os testing]"; err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("%s, %v, want %s", out, err, want)
	}
	for name, content := range files {
		if written, err := os.ReadFile(filepath.Join(module, name)); err != nil || string(written) != content {
			t.Errorf("%s has become %q, %v", name, written, err)
		}
	}
}

// A suite in a bubble has its specs as they are, and begins in a bubble.
func TestSuitesBeginInABubble(t *testing.T) {
	suite := t.TempDir()
	write := func(content string) {
		if err := os.WriteFile(filepath.Join(suite, suiteFile), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("package suite\n\nfunc TestAPIs(t *testing.T) { ginkgo.RunSpecs(t, \"A suite\") }\n\nvar testEnv = &envtest.Environment{\n\tA: 1,\n}\n")
	files, err := inBubble(suite)
	want := "package suite\n\nfunc TestAPIs(t *testing.T) { runInBubble(t, \"A suite\") }\n\nvar testEnv = &envtest.Environment{Config: bubbleConfig, \n\tA: 1,\n}\n"
	if err != nil || files[suiteFile] != want {
		t.Errorf("%v, the suite begins with %q, want %q", err, files[suiteFile], want)
	}
	if file, err := parser.ParseFile(token.NewFileSet(), "", files["aaa_bubble_test.go"], 0); err != nil || file.Name.Name != "suite" {
		t.Errorf("the file that is added: %v, of package %v", err, file.Name)
	}
	write("package suite\n\nfunc TestAPIs(t *testing.T) { ginkgo.RunSpecs(t, \"A suite\") }\n")
	if _, err := inBubble(suite); err == nil || err.Error() != suiteFile+" of "+suite+` has nothing like envtest\.Environment\{` {
		t.Errorf("a suite without envtest: %v", err)
	}
}
