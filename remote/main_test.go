package remote

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// asChild makes the test binary a program that starts a cluster, for the tests of several processes.
const asChild = "FAKECLUSTER_TEST_CHILD"

// killedVariable makes the test binary a process that is killed, with the host of its parent: see TestKilledClients.
const killedVariable = "FAKECLUSTER_TEST_KILLED"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) != "" {
		child()
	}
	os.Exit(run(m))
}

// run runs the tests with a program that is built once, and a host of their own.
func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "fc-") // short enough for a socket
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	if os.Getenv(programVariable) == "" { // unless a developer has built it before
		program := filepath.Join(folder, "bin", "fakecluster")
		if runtime.GOOS == "windows" {
			program += ".exe"
		}
		build := exec.Command("go", "build", "-o", program, "./cmd/fakecluster")
		build.Dir = ".."
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "building fakecluster:", err)
			return 1
		}
		os.Setenv(programVariable, program)
	}
	if os.Getenv(killedVariable) == "" { // otherwise the host is that of the parent
		os.Setenv("XDG_CACHE_HOME", folder)
		defer endHost()
	}
	return m.Run()
}

// endHost ends the host of this process.
func endHost() {
	if ours.connection == nil {
		return
	}
	if pid, err := ours.process(); err == nil {
		if process, err := os.FindProcess(pid); err == nil {
			_ = process.Kill()
		}
	}
}

// child starts a cluster, prints the process of its host, its name and how to reach it, and waits to be killed or for the end of its stdin.
func child() {
	c, err := New()
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	pid, err := c.host.process()
	fmt.Println("started", pid, c.description.Cluster, c.URL(), c.Token(), err)
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

// stacks returns the stacks of all goroutines.
func stacks() string {
	text := make([]byte, 16<<20)
	return string(text[:runtime.Stack(text, true)])
}
