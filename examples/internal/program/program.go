// Package program builds the program fakecluster from this repository, for examples whose clusters run in another process. A suite
// of your own does not need it.
package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Run runs tests with the environment variable FAKECLUSTER, which names the program unless it is set, and with a cache folder of their own. The host
// ends a minute after the tests.
func Run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "fc-") // short enough for a socket
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	if os.Getenv("FAKECLUSTER") == "" { // .ci/run has built it
		path := filepath.Join(folder, "bin", "fakecluster")
		build := exec.Command("go", "build", "-o", path, "./cmd/fakecluster")
		build.Dir = filepath.Join("..", "..")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building fakecluster: %v\n%s", err, out)
			return 1
		}
		os.Setenv("FAKECLUSTER", path)
	}
	os.Setenv("XDG_CACHE_HOME", folder)
	return m.Run()
}
