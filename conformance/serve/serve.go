// Package serve starts programs that serve a cluster, such as fakecluster serve, for the suites that are run against them.
package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Start starts a program and returns the URL when it has printed its first line, "ready URL". What it prints on stderr goes to that
// of this process. end sends it SIGTERM and returns when it has ended, with an error if it fails; so does the end of ctx.
func Start(ctx context.Context, program string, args ...string) (url string, end func() error, err error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", nil, err
	}
	name := filepath.Base(program)
	end = func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	url, ready := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if err != nil || !ready {
		return "", nil, errors.Join(fmt.Errorf("%s printed %q as its first line, not ready and a URL", name, line), err, end())
	}
	return url, end, nil
}
