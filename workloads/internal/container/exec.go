package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"sync"
)

// Command is a program that an exec probe runs in a container.
type Command struct {
	Args           []string // with the name of the program
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Container      *Container
}

// ExecFunction is a program that can be run in a container. Its error is an exit code as that of a [Function].
type ExecFunction func(ctx context.Context, command *Command) error

// execHandlers are the programs of a container, by name.
type execHandlers struct {
	mu     sync.Mutex
	byName map[string]ExecFunction
}

// HandleExec makes a program available in the container, for exec probes. name is the first word of the command, or the
// last part of its path. A program of the same name is replaced.
func (c *Container) HandleExec(name string, run ExecFunction) {
	c.exec.mu.Lock()
	defer c.exec.mu.Unlock()
	if c.exec.byName == nil {
		c.exec.byName = map[string]ExecFunction{}
	}
	c.exec.byName[name] = run
}

func (c *Container) program(name string) ExecFunction {
	c.exec.mu.Lock()
	defer c.exec.mu.Unlock()
	if run := c.exec.byName[name]; run != nil {
		return run
	}
	return c.exec.byName[path.Base(name)]
}

// errNoProgram is the error about a program that a container does not have.
type errNoProgram string

func (e errNoProgram) Error() string {
	return fmt.Sprintf("exec: %q: executable file not found in $PATH", string(e))
}

// Exec runs a program in the container, and returns its exit code. An error is about a program that does not exist.
func (c *Container) Exec(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int, err error) {
	if len(args) == 0 {
		return 0, errors.New("the command is empty")
	}
	run := c.program(args[0])
	if run == nil {
		return 0, errNoProgram(args[0])
	}
	err = run(ctx, &Command{Args: args, Stdin: stdin, Stdout: stdout, Stderr: stderr, Container: c})
	code = int(codeOf(err))
	if exit := exitError(0); err != nil && !errors.As(err, &exit) {
		fmt.Fprintf(stderr, "%v\n", err)
	}
	return code, nil
}
