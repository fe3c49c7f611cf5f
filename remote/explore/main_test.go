package explore_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// programVariable names the program of the host, if a developer has built it before.
const programVariable = "FAKECLUSTER"

// TestMain runs the tests with a program that is built once, and a host of their own, which ends with the last session.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "fc-") // short enough for a socket
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	if os.Getenv(programVariable) == "" {
		program := filepath.Join(folder, "fakecluster")
		build := exec.Command("go", "build", "-o", program, "./cmd/fakecluster")
		build.Dir = "../.."
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "building fakecluster:", err)
			return 1
		}
		os.Setenv(programVariable, program)
	}
	os.Setenv("XDG_CACHE_HOME", folder)
	return m.Run()
}
