package shell

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/network"
)

// Shell runs programs in a container.
type Shell struct {
	Files       *files.Root
	Hostname    string
	Dir         string   // the working directory
	Environment []string // "NAME=value"
	// Passed is the time that the command has already run in a container that was taken over. Its sleeps are shorter by
	// it.
	Passed time.Duration
	// Dial connects to the network of the cluster; nil: there is none.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Listening returns the ports at which programs of the Pod listen; nil: there are none.
	Listening func() []network.Socket
	// Program returns a program of the container, which takes precedence over one of this package; nil: there is none.
	Program func(name string) Program
	// Terminated is closed when the first command of the container gets SIGTERM, for the trap of a script.
	Terminated <-chan struct{}

	trapped atomic.Bool
	mu      sync.Mutex // of Passed
}

// Trapped reports whether the first command of the container has a trap for SIGTERM.
func (s *Shell) Trapped() bool { return s.trapped.Load() }

// skip returns the part of a sleep that has already passed.
func (s *Shell) skip(sleep time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	passed := min(sleep, s.Passed)
	s.Passed -= passed
	return passed
}

// Program runs with a command, and returns its exit code.
type Program func(ctx context.Context, c *Command) int

// Command is a program with its arguments, streams, environment and directory.
type Command struct {
	Args           []string // beginning with the name of the program
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environment    []string
	Dir            string
	TTY            bool
}

// find returns a program by the first word of a command, which may also be the path of a script; nil: there is none.
func (s *Shell) find(c *Command, name string) Program {
	var found Program
	if s.Program != nil {
		found = s.Program(name)
	}
	if found == nil {
		own := programNamed(path.Base(name))
		if own == nil && isPath(name) {
			own = s.scriptAt(c.absolute(name))
		}
		if own == nil {
			return nil
		}
		found = func(ctx context.Context, c *Command) int { return own(ctx, s, c) }
	}
	return func(ctx context.Context, c *Command) int {
		inner, err := deeper(ctx)
		if err != nil {
			return failed
		}
		return found(inner, c)
	}
}

// scriptAt returns the script in a file; nil: it has none for a shell.
func (s *Shell) scriptAt(name string) func(context.Context, *Shell, *Command) int {
	data, err := s.Files.ReadFile(name)
	if err != nil {
		return nil
	}
	interpreter, ok := interpreterOf(string(data))
	if !ok {
		return nil
	}
	return func(ctx context.Context, s *Shell, c *Command) int {
		inner := *c
		inner.Args = append(append(interpreter, name), c.Args[1:]...)
		return sh(ctx, s, &inner)
	}
}

// interpreterOf returns the shell in the first line of a script, with its argument. Without such a line it is sh.
func interpreterOf(text string) (words []string, ok bool) {
	line, _, _ := strings.Cut(text, "\n")
	line, ok = strings.CutPrefix(line, "#!")
	if !ok {
		return []string{"sh"}, !strings.Contains(line, "\x00")
	}
	words = strings.Fields(line)
	if len(words) > 1 && path.Base(words[0]) == "env" {
		words = words[1:]
	}
	return words, len(words) > 0 && isShell(words[0])
}

// isShell reports whether a program is a shell.
func isShell(name string) bool {
	switch path.Base(name) {
	case "sh", "bash", "ash", "dash":
		return true
	}
	return false
}

// read reads a file.
func (s *Shell) read(ctx context.Context, name string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if info, err := fs.Stat(s.Files, relative(name)); err == nil {
		switch {
		case info.IsDir():
			return nil, &fs.PathError{Op: "read", Path: name, Err: syscall.EISDIR}
		case info.Size() > maxHeld:
			return nil, &fs.PathError{Op: "read", Path: name, Err: syscall.EFBIG}
		}
	}
	data, err := s.Files.ReadFile(name)
	if err == nil {
		err = limitsOf(ctx).do(len(data))
	}
	return data, err
}

// failed is the exit code of a command that cannot run.
const failed = 2

// Run runs a command. found is false if the program does not exist. A command that exceeds a limit ends with everything
// that it runs.
func (s *Shell) Run(ctx context.Context, c Command) (code int, found bool) {
	if c.Stdin == nil {
		c.Stdin = strings.NewReader("")
	}
	if c.Stdout == nil {
		c.Stdout = io.Discard
	}
	if c.Stderr == nil {
		c.Stderr = io.Discard
	}
	c.Environment, c.Dir = s.Environment, s.Dir
	if c.Dir == "" {
		c.Dir = "/"
	}
	p := s.find(&c, c.Args[0])
	if p == nil {
		return 0, false
	}
	lock := make(chan struct{}, 1)
	out, errs := c.Stdout, c.Stderr
	c.Stdout, c.Stderr = shared{lock, out}, shared{lock, errs}
	ctx, end := limited(ctx)
	code = p(ctx, &c)
	if err := end(); err != nil {
		return c.fail(failed, "%v", err), true
	}
	return code, true
}

// NotFound is the error for a program that a container does not have.
type NotFound string

// Error implements error, with the text of container runtimes.
func (n NotFound) Error() string {
	if path.IsAbs(string(n)) {
		return fmt.Sprintf("exec: %q: stat %s: no such file or directory", string(n), string(n))
	}
	return fmt.Sprintf("exec: %q: executable file not found in $PATH", string(n))
}

// absolute returns a path for a name that may be relative to the directory of a command.
func (c *Command) absolute(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(c.Dir, name)
}
