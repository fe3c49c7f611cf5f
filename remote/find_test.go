package remote

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheVersionOfTheProgramIsThatOfTheModule(t *testing.T) {
	vendored := func(line string) string {
		folder := filepath.Join(t.TempDir(), "vendor")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "modules.txt"), []byte("# example.com/a v1.0.0\n"+line+"\n## explicit; go 1.22\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(folder, filepath.FromSlash(thisModule), "find.go")
	}
	for _, c := range []struct{ file, want string }{
		{"/home/me/go/pkg/mod/" + thisModule + "@v0.1.0/find.go", "v0.1.0"},
		{thisModule + "@v0.1.1-rc.1/find.go", "v0.1.1-rc.1"}, // with -trimpath
		{"/home/me/fakecluster/remote/find.go", "latest"},
		{thisModule + "/find.go", "latest"},
		{vendored("# " + thisModule + " v0.2.0"), "v0.2.0"},
		{vendored("# " + thisModule + " v0.2.0 => ../fakecluster/remote"), "latest"},
		{vendored("# example.com/b v1.0.0"), "latest"},
	} {
		if got := versionOf(c.file); got != c.want {
			t.Errorf("the version of %s is %s, want %s", c.file, got, c.want)
		}
	}
}
