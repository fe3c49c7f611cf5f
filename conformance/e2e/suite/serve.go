package suite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// serve starts a living cluster, and returns what ends it.
func (r runner) serve(ctx context.Context, kubeconfig string) (end func(), err error) {
	cmd := exec.CommandContext(ctx, r.server, "-kubeconfig", kubeconfig)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	end = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // what it says is on stderr
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready ") {
		err = errors.Join(fmt.Errorf("the cluster said %q", line), err)
	}
	if err != nil {
		end()
		return nil, err
	}
	return end, nil
}
