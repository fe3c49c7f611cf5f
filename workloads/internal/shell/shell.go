package shell

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path"
	"syscall"
	"time"
)

// Files are the files of a container. Names are absolute paths.
type Files interface {
	fs.FS
	ReadFile(name string) ([]byte, error)
	WriteFile(name string, data []byte, mode fs.FileMode) error
	Mkdir(name string) error
	Remove(name string) error
}

// Shell runs programs in a container.
type Shell struct {
	Files       Files
	Hostname    string
	Dir         string   // the working directory
	Environment []string // "NAME=value"
	// Passed is how long the command has run before in its container, which goes on: so much of its sleeps has passed.
	Passed time.Duration
	// Dial connects to the network of the cluster; nil: there is none.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Program returns a program of the container, which comes before one of this package; nil: there is none.
	Program func(name string) Program
}

// Program runs with a command, and returns its exit code.
type Program func(ctx context.Context, c *Command) int

// Command is a program with its arguments, and what it finds.
type Command struct {
	Args           []string // with the name of the program
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environment    []string
	Dir            string
	TTY            bool
}

// find returns a program by the first word of a command, or nil.
func (s *Shell) find(name string) Program {
	var found Program
	if s.Program != nil {
		found = s.Program(name)
	}
	if found == nil {
		own := programNamed(path.Base(name))
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

// read reads a file.
func (s *Shell) read(ctx context.Context, name string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if info, err := fs.Stat(s.Files, relative(name)); err == nil && info.Size() > maxHeld {
		return nil, &fs.PathError{Op: "read", Path: name, Err: syscall.EFBIG}
	}
	data, err := s.Files.ReadFile(name)
	if err == nil {
		err = limitsOf(ctx).do(len(data))
	}
	return data, err
}

// failed is the exit code of a command that cannot run.
const failed = 2

// Run runs a command. It returns false if the program does not exist. A command that exceeds a limit ends with everything that it runs.
func (s *Shell) Run(ctx context.Context, c Command) (code int, found bool) {
	p := s.find(c.Args[0])
	if p == nil {
		return 0, false
	}
	if c.Stdin == nil {
		c.Stdin = empty{}
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
	ctx, end := limited(ctx)
	code = p(ctx, &c)
	if err := end(); err != nil {
		return c.fail(failed, "%v", err), true
	}
	return code, true
}

// NotFound is the error about a program that a container does not have.
type NotFound string

// Error implements error, in the words of container runtimes.
func (n NotFound) Error() string {
	if path.IsAbs(string(n)) {
		return fmt.Sprintf("exec: %q: stat %s: no such file or directory", string(n), string(n))
	}
	return fmt.Sprintf("exec: %q: executable file not found in $PATH", string(n))
}

// empty is an input that has ended.
type empty struct{}

// Read implements io.Reader.
func (empty) Read([]byte) (int, error) { return 0, io.EOF }

// absolute returns a path for a name that may be relative to the directory of a command.
func (c *Command) absolute(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(c.Dir, name)
}
