package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	clientcmd "k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fakecluster/fakecluster/internal/bubble"
)

// Program is a program of the system that runs as the process of a container.
type Program struct {
	Path string   // of the program, as for exec.Command
	Args []string // before those of the container
}

// function returns the function that runs the program. It fails outside of Linux and in a bubble.
func (g *Program) function(kubeconfig func() ([]byte, error)) (Function, error) {
	switch {
	case runtime.GOOS != "linux":
		return nil, fmt.Errorf("the program %s: programs run in containers on Linux only, not on %s; use a function", g.Path, runtime.GOOS)
	case bubble.Inside():
		return nil, fmt.Errorf("the program %s: a program cannot run in a synctest bubble, because it has real time; use a function", g.Path)
	}
	path, err := exec.LookPath(g.Path)
	if err != nil {
		return nil, fmt.Errorf("the program %s: %w", g.Path, err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("the program %s: %w", g.Path, err)
	}
	return func(ctx context.Context, c *Container) error {
		// The kernel ends the program when the thread that has started it ends, and thus with the test.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		own, err := os.MkdirTemp("", "fakecluster-container-")
		if err != nil {
			return err
		}
		return errors.Join(run(ctx, c, own, exec.Command(path, g.Args...), kubeconfig), os.RemoveAll(own))
	}, nil
}

// outputDelay is the time for which the output is read after the end of a program, if a child still has the streams.
const outputDelay = time.Second

// run runs a program in a container that has a folder of its own.
func run(ctx context.Context, c *Container, own string, program *exec.Cmd, kubeconfig func() ([]byte, error)) (err error) {
	folders, err := mountedFolders(c)
	if err != nil {
		return err
	}
	if message := c.spec.TerminationMessagePath; message != "" && folders.in(message) == message {
		file := filepath.Join(own, "termination-log")
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			return err
		}
		folders[message] = file
		c.message.Store(&file)
		defer func() { err = errors.Join(err, takeMessage(c)) }()
	}
	if len(c.Command) > 1 {
		program.Args = append(program.Args, folders.inAll(c.Command[1:])...)
	}
	program.Args = append(program.Args, folders.inAll(c.Args)...)
	program.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + own, "TMPDIR=" + own}, folders.inAll(outOfCluster(c.Environment))...)
	if token := folders.in(accountPath + "/token"); token != accountPath+"/token" {
		file := filepath.Join(own, "kubeconfig")
		if err := writeKubeconfig(file, c.Pod.Namespace, token, kubeconfig); err != nil {
			return err
		}
		program.Env = append([]string{"KUBECONFIG=" + file}, program.Env...)
	}
	if program.Dir = folders.in(c.Dir); program.Dir == c.Dir {
		program.Dir = own
	}
	program.Stdout, program.Stderr, program.WaitDelay, program.SysProcAttr = c.Stdout, c.Stderr, outputDelay, attributes()
	stdin, err := program.StdinPipe()
	if err != nil {
		return err
	}
	if err := forward(ctx, c); err != nil {
		return err
	}
	if err := program.Start(); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(stdin, c.Stdin) // it ends with the container
		_ = stdin.Close()
	}()
	return wait(ctx, c, program)
}

// takeMessage copies the end of the file on disk to which the program has written its termination message.
func takeMessage(c *Container) error {
	file := c.message.Load()
	if file == nil {
		return nil
	}
	info, err := os.Lstat(*file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil // the program has removed or replaced it
	} else if err != nil {
		return err
	}
	from, err := os.OpenInRoot(filepath.Dir(*file), filepath.Base(*file)) // it may be a link by now
	if err != nil {
		return err
	}
	defer from.Close()
	if info.Size() > messageLimit {
		if _, err := from.Seek(-messageLimit, io.SeekEnd); err != nil {
			return err
		}
	}
	data, err := io.ReadAll(io.LimitReader(from, messageLimit))
	if err != nil {
		return err
	}
	return c.files.WriteFile(c.spec.TerminationMessagePath, data, 0o644)
}

// wait waits for the end of a program, and passes the signals of its container on.
func wait(ctx context.Context, c *Container, program *exec.Cmd) error {
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		terminate(program.Process)
		select {
		case err = <-ended:
		case <-c.killed:
			killGroup(program.Process)
			err = <-ended
		}
	}
	killGroup(program.Process) // its children end with the container
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return Exit(exitCode(failed.ProcessState))
	}
	return err
}

// folders are folders on disk, by their mount paths.
type folders map[string]string

// mountedFolders returns folders with the volumes that a container mounts.
func mountedFolders(c *Container) (folders, error) {
	found := folders{}
	for _, mount := range c.spec.VolumeMounts {
		path := filepath.Clean(mount.MountPath)
		folder, err := c.Folder(path)
		if err != nil {
			return nil, fmt.Errorf("a folder for the volume %s: %w", mount.Name, err)
		}
		found[path] = folder
	}
	return found, nil
}

// in returns the path on disk of a mounted path, and any other text as it is.
func (f folders) in(name string) string {
	longest := ""
	for path := range f {
		if rest, ok := strings.CutPrefix(name, path); ok && (rest == "" || rest[0] == '/') && len(path) > len(longest) {
			longest = path
		}
	}
	if longest == "" {
		return name
	}
	return f[longest] + name[len(longest):]
}

// inAll does the same for words, and for the part of a word after the first "=".
func (f folders) inAll(words []string) []string {
	replaced := make([]string, len(words))
	for i, word := range words {
		replaced[i] = f.in(word)
		if name, value, ok := strings.Cut(word, "="); ok {
			replaced[i] = name + "=" + f.in(value)
		}
	}
	return replaced
}

// outOfCluster returns an environment without the address of the API server in the network of the pods, which a program
// cannot reach.
func outOfCluster(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(variable string) bool {
		return strings.HasPrefix(variable, "KUBERNETES_SERVICE_HOST=") || strings.HasPrefix(variable, "KUBERNETES_SERVICE_PORT=")
	})
}

// writeKubeconfig writes a kubeconfig file whose user is the ServiceAccount of the token in a file.
func writeKubeconfig(file, namespace, token string, kubeconfig func() ([]byte, error)) error {
	data, err := kubeconfig()
	if err != nil {
		return err
	}
	config, err := clientcmd.Load(data)
	if err != nil {
		return err
	}
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{"pod": {TokenFile: token}}
	for _, entry := range config.Contexts {
		entry.AuthInfo, entry.Namespace = "pod", cmp.Or(namespace, entry.Namespace)
	}
	return clientcmd.WriteToFile(*config, file)
}
