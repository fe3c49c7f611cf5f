package kubectl

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fakecluster/fakecluster/conformance/gotool"
)

// programs is where the programs are that a session runs: kubectl and fakecluster.
type programs string

// build builds the programs.
func build(ctx context.Context) (programs, error) {
	dir, err := os.MkdirTemp("", "fakecluster-kubectl-")
	if err != nil {
		return "", err
	}
	for _, of := range []struct{ folder, pkg string }{
		{"", "./cmd/kubectl"},
		// In its own module it has the versions of the libraries that it is released with.
		{"..", "./cmd/fakecluster"},
	} {
		binary := filepath.Join(dir, filepath.Base(of.pkg))
		if _, err := gotool.Output(ctx, of.folder, "build", "-o", binary, of.pkg); err != nil {
			os.RemoveAll(dir)
			return "", err
		}
	}
	return programs(dir), nil
}

func (p programs) remove() { os.RemoveAll(string(p)) }

// server is a `fakecluster serve` and a folder to work in.
type server struct {
	programs programs
	dir      string // the home of the commands
	cmd      *exec.Cmd
}

// serve starts a server with the definitions in testdata/crds, and with flags.
func (p programs) serve(ctx context.Context, flags []string) (*server, error) {
	dir, err := os.MkdirTemp("", "fakecluster-session-")
	if err != nil {
		return nil, err
	}
	s := &server{programs: p, dir: dir}
	if err := os.CopyFS(s.work(), os.DirFS("kubectl/testdata")); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	args := append([]string{"serve", "--kubeconfig", s.kubeconfig(), "--crds", filepath.Join(s.work(), "crds")}, flags...)
	s.cmd = exec.CommandContext(ctx, filepath.Join(string(p), "fakecluster"), args...)
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = 5 * time.Second
	s.cmd.Stderr = os.Stderr
	stdout, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || !strings.HasPrefix(line, "ready ") {
		s.stop()
		return nil, fmt.Errorf("fakecluster serve said %q: %w", line, err)
	}
	return s, nil
}

func (s *server) work() string       { return filepath.Join(s.dir, "work") }
func (s *server) kubeconfig() string { return filepath.Join(s.dir, "kubeconfig") }

// stop ends the server and returns an error if that does not go cleanly.
func (s *server) stop() error {
	defer os.RemoveAll(s.dir)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("fakecluster serve: %w", err)
	}
	return nil
}

// shell returns a command line as a process that knows the server and ends with all
// its children.
func (s *server) shell(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = s.work()
	cmd.Env = []string{
		"PATH=" + string(s.programs) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + s.dir,
		"TMPDIR=" + s.dir,
		"KUBECONFIG=" + s.kubeconfig(),
		"TZ=UTC",
		"LC_ALL=C",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}
