package integration

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// run runs the test in a process of its own.
func (t test) run(ctx context.Context) ([]verdict.Result, error) {
	// The process ends itself, and says where it was; if it cannot, it is ended.
	ctx, cancel := context.WithTimeout(ctx, t.timeout+10*time.Second)
	defer cancel()
	// Tests write into the folder for temporary files, some of them always the same file.
	temp, err := os.MkdirTemp("", "fakecluster-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	cmd := command(ctx, t.dir, "go", "tool", "test2json", "-t", t.binary,
		"-test.run", "^"+t.name+"$", "-test.v=test2json", "-test.timeout", t.timeout.String())
	cmd.Env = append(cmd.Env, "TMPDIR="+temp)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	started := time.Now()
	events, err := cmd.Output()
	took := time.Since(started)
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		return nil, fmt.Errorf("running %s: %w", t, err)
	}
	results, err := readEvents(bytes.NewReader(events), t, took)
	if err != nil {
		return nil, fmt.Errorf("reading what %s prints: %w\n%s", t, err, stderr.Bytes())
	}
	return results, nil
}

// command is a process that is ended with all its children.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}
