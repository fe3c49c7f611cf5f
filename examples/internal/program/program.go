// Package program builds the program fakecluster from this repository, for examples whose clusters run in another process. A suite
// of your own does not need it.
package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Run runs tests with the environment variable FAKECLUSTER, which names the program unless it is set, and with a cache folder of their own. The host
// ends a minute after the tests.
func Run(m *testing.M) int {
	folder, err := prepare()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	return m.Run()
}

// used is the folder of Use.
var used struct {
	once   sync.Once
	folder string
	err    error
}

// Use prepares the process when the first test needs it, in place of Run. TestMain calls End.
func Use(t *testing.T) {
	t.Helper()
	used.once.Do(func() { used.folder, used.err = prepare() })
	if used.err != nil {
		t.Fatal(used.err)
	}
}

// End removes what Use has made.
func End() { _ = os.RemoveAll(used.folder) }

// prepare sets the environment, and returns the folder of the program and of the cache.
func prepare() (folder string, err error) {
	if folder, err = os.MkdirTemp("", "fc-"); err != nil { // short enough for a socket
		return "", err
	}
	if os.Getenv("FAKECLUSTER") == "" { // .ci/run has built it
		path := filepath.Join(folder, "bin", "fakecluster")
		build := exec.Command("go", "build", "-o", path, "./cmd/fakecluster")
		build.Dir = filepath.Join("..", "..")
		if out, err := build.CombinedOutput(); err != nil {
			_ = os.RemoveAll(folder)
			return "", fmt.Errorf("building fakecluster: %w\n%s", err, out)
		}
		if err := os.Setenv("FAKECLUSTER", path); err != nil {
			return "", err
		}
	}
	return folder, os.Setenv("XDG_CACHE_HOME", folder)
}
