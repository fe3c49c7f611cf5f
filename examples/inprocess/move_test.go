package suite

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// block is the list of docs/remote.md that moves a suite.
var block = regexp.MustCompile("(?s)```sh\n(move\\(\\) .*?)```")

// TestTheDocumentedListMovesASuite moves a copy of this suite by the list of docs/remote.md. The folder moved has the result, which has to compile and pass.
func TestTheDocumentedListMovesASuite(t *testing.T) {
	docs, err := os.ReadFile("../../docs/remote.md")
	if err != nil {
		t.Fatal(err)
	}
	list := block.FindSubmatch(docs)
	if list == nil {
		t.Fatal("docs/remote.md has no list that begins with move()")
	}
	suite, err := os.ReadFile("suite_test.go")
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "suite_test.go")
	if err := os.WriteFile(copied, suite, 0o644); err != nil {
		t.Fatal(err)
	}
	script := exec.Command("sh", "-e")
	script.Dir, script.Stdin = filepath.Dir(copied), bytes.NewReader(list[1])
	if out, err := script.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../moved/suite_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("moved/suite_test.go (-want +got):\n%s", diff)
	}
}
