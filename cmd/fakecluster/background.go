package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// startInBackground starts the host as a process that outlives this one, and prints its first line. The
// stderr of the host goes to the file host.log in its folder, and that of the former one to host.former.log. If the context ends before that line, the host
// is killed.
func (f *hostFlags) startInBackground(ctx context.Context, stdout io.Writer) error {
	folder, err := hostFolder()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.CreateTemp(folder, "starting-*.log")
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"host"}
	if f.listen >= 0 {
		args = append(args, "--listen", strconv.Itoa(f.listen))
	}
	if f.stay {
		args = append(args, "--stay")
	}
	cmd := exec.Command(self, args...)
	cmd.Dir, cmd.Stderr = folder, log
	detach(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	interrupted := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if !interrupted() && err != nil {
		_ = cmd.Wait()
		_ = os.Remove(log.Name())
		return fmt.Errorf("interrupted before the host in the background was ready: %w", ctx.Err())
	}
	if err == nil {
		if f.listen >= 0 || isHost(folder, cmd.Process.Pid) {
			keepLog(folder, log.Name())
		} else { // the child has found a host that runs
			_ = os.Remove(log.Name())
		}
		_, err = io.WriteString(stdout, line)
		return err
	}
	_ = cmd.Wait() // the log has the reason
	defer os.Remove(log.Name())
	said, _ := os.ReadFile(log.Name())
	return fmt.Errorf("in the background: %s", strings.TrimPrefix(strings.TrimSpace(string(said)), "fakecluster: host: "))
}

// isHost reports whether a process is the host of the socket in a folder.
func isHost(folder string, pid int) bool {
	process, err := os.ReadFile(filepath.Join(folder, "running.lock"))
	return err == nil && string(process) == strconv.Itoa(pid)
}

// keepLog gives the log of a new host its name. If the log of the former host says something, such as why that host
// died, it stays as host.former.log. An error does not matter: the logs are for people.
func keepLog(folder, log string) {
	path := filepath.Join(folder, "host.log")
	if former, err := os.Stat(path); err == nil && former.Size() > 0 {
		_ = os.Rename(path, filepath.Join(folder, "host.former.log"))
	}
	_ = os.Rename(log, path)
}

// otherHost starts the host of another version of Kubernetes in the background, if it does not run, and
// returns the address that it prints after "ready", in words.
func otherHost(version string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"host", "--background", "--" + kubernetesVersion, version}
	if runtime.GOOS == "windows" { // whose hosts do not share a socket
		args = append(args, "--listen", "0")
	}
	out, err := exec.Command(self, args...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, errors.New(strings.TrimPrefix(strings.TrimSpace(string(exit.Stderr)), "fakecluster: host: "))
	}
	if err != nil {
		return nil, err
	}
	words := strings.Fields(string(out))
	if len(words) < 2 {
		return nil, fmt.Errorf("%s %s prints %q in place of its address", self, strings.Join(args, " "), out)
	}
	return words[1:], nil
}
