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

// programs are those that a session runs, among them kubectl and fakecluster.
type programs struct {
	dir    string // where they are
	folder string // of the session
}

// build builds the programs.
func (of Session) build(ctx context.Context) (programs, error) {
	dir, err := os.MkdirTemp("", "fakecluster-session-")
	if err != nil {
		return programs{}, err
	}
	// In its own module fakecluster has the versions of the libraries that it is released with.
	folders := map[string]string{"./cmd/fakecluster": ".."}
	for _, pkg := range append([]string{"./cmd/kubectl", "./cmd/fakecluster"}, of.Further...) {
		binary := filepath.Join(dir, filepath.Base(pkg))
		if _, err := gotool.Output(ctx, folders[pkg], "build", "-o", binary, pkg); err != nil {
			os.RemoveAll(dir)
			return programs{}, err
		}
	}
	return programs{dir, of.Folder}, nil
}

func (p programs) remove() { os.RemoveAll(p.dir) }

// server is a `fakecluster serve` and a folder to work in.
type server struct {
	programs programs
	dir      string // the home of the commands
	cmd      *exec.Cmd
}

// serve starts a server with the definitions of the session, and with flags.
func (p programs) serve(ctx context.Context, flags []string) (*server, error) {
	dir, err := os.MkdirTemp("", "fakecluster-session-")
	if err != nil {
		return nil, err
	}
	s := &server{programs: p, dir: dir}
	if err := os.CopyFS(s.work(), os.DirFS(p.folder)); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	args := append([]string{"serve", "--kubeconfig", s.kubeconfig()}, flags...)
	if crds := filepath.Join(s.work(), "crds"); isFolder(crds) {
		args = append(args, "--crds", crds)
	}
	s.cmd = exec.CommandContext(ctx, filepath.Join(p.dir, "fakecluster"), args...)
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
		"PATH=" + s.programs.dir + string(os.PathListSeparator) + os.Getenv("PATH"),
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

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
