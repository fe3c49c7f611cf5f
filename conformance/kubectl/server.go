package kubectl

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/fakecluster/fakecluster/conformance/gotool"
	"github.com/fakecluster/fakecluster/conformance/real/controlplane"
	"github.com/fakecluster/fakecluster/conformance/serve"
)

// programs are those that a session runs, among them kubectl and fakecluster.
type programs struct {
	dir    string // where they are
	folder string // of the session
	real   string // the folder of the real server's programs, if the session is played on that
}

// build builds the programs. FAKECLUSTER in the environment is the path of a fakecluster that is built already.
func (s Session) build(ctx context.Context) (programs, error) {
	dir, err := os.MkdirTemp("", "fakecluster-session-")
	if err != nil {
		return programs{}, err
	}
	if err := s.buildInto(ctx, dir); err != nil {
		return programs{}, errors.Join(err, os.RemoveAll(dir))
	}
	return programs{dir, s.Folder, s.Real}, nil
}

func (s Session) buildInto(ctx context.Context, dir string) error {
	goBuild := func(module string, packages ...string) error {
		// Without debug information and Go plugins of kustomize, the programs link in a third of the time.
		_, err := gotool.Output(ctx, module, append([]string{"build", "-ldflags=-s -w", "-tags=kustomize_disable_go_plugin_support", "-o", dir}, packages...)...)
		return err
	}
	if err := goBuild("", append([]string{"./cmd/kubectl"}, s.Further...)...); err != nil {
		return err
	}
	if built := os.Getenv("FAKECLUSTER"); built != "" {
		if err := os.Symlink(built, filepath.Join(dir, "fakecluster")); err != nil {
			return err
		}
	} else if err := goBuild("..", "./cmd/fakecluster"); err != nil { // there it has the versions of the libraries that it is released with
		return err
	}
	if s.Build == nil {
		return nil
	}
	program, err := s.Build(ctx)
	if err != nil {
		return err
	}
	return os.Symlink(program, filepath.Join(dir, filepath.Base(program)))
}

func (p programs) remove() { os.RemoveAll(p.dir) }

// server is a `fakecluster serve` or a real control plane, and a folder to work in.
type server struct {
	programs programs
	dir      string // the home of the commands
	end      func() error
}

// serve starts a server with the definitions of the session, and with flags.
func (p programs) serve(ctx context.Context, flags []string) (_ *server, err error) {
	dir, err := os.MkdirTemp("", "fakecluster-session-")
	if err != nil {
		return nil, err
	}
	s := &server{programs: p, dir: dir}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	if err := os.CopyFS(s.work(), os.DirFS(p.folder)); err != nil {
		return nil, err
	}
	var crds []string
	if path := filepath.Join(s.work(), "crds"); isFolder(path) {
		crds = append(crds, path)
	}
	if p.real != "" {
		return s, s.startReal(ctx, crds)
	}
	return s, s.startFakecluster(ctx, crds, flags)
}

// images is the flag of a section whose server is that of the e2e suite, in which containers are Go functions.
const images = "--images"

func (s *server) startFakecluster(ctx context.Context, crds, flags []string) (err error) {
	if slices.Contains(flags, images) {
		_, s.end, err = serve.Start(ctx, filepath.Join(s.programs.dir, "cluster"), "-kubeconfig", s.kubeconfig())
		return err
	}
	args := append([]string{"serve", "--kubeconfig", s.kubeconfig()}, flags...)
	for _, path := range crds {
		args = append(args, "--crds", path)
	}
	_, s.end, err = serve.Start(ctx, filepath.Join(s.programs.dir, "fakecluster"), args...)
	return err
}

// startReal starts a real control plane. Its administrator has the name that fakecluster's has.
func (s *server) startReal(ctx context.Context, crds []string) error {
	plane, err := controlplane.Start(ctx, s.programs.real, crds...)
	if err != nil {
		return err
	}
	s.end = plane.Stop
	kubeconfig, err := plane.Kubeconfig("kubernetes-admin")
	if err == nil {
		err = os.WriteFile(s.kubeconfig(), kubeconfig, 0o600)
	}
	if err != nil {
		return errors.Join(err, plane.Stop())
	}
	return nil
}

func (s *server) work() string       { return filepath.Join(s.dir, "work") }
func (s *server) kubeconfig() string { return filepath.Join(s.dir, "kubeconfig") }

// stop ends the server and returns an error if that does not go cleanly.
func (s *server) stop() error {
	defer os.RemoveAll(s.dir)
	return s.end()
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
