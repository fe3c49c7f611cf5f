package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime/debug"
	"sync"

	"github.com/fakecluster/fakecluster/workloads/internal/shell"
	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
)

// Command is a run of a program in a container.
type Command struct {
	Args           []string // beginning with the name of the program
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	TTY            bool // the streams are those of a terminal
	Container      *Container
}

// ExecFunction is a program in a container. Its error determines the exit code, like that of a [Function].
type ExecFunction func(ctx context.Context, command *Command) error

// execHandlers are the programs of a container, by name.
type execHandlers struct {
	mu     sync.Mutex
	byName map[string]ExecFunction
}

// HandleExec adds a program to the container, for exec probes, hooks, kubectl exec, and the scripts of sh -c. name is
// the first word of the command, or the last element of its path. It replaces a program of the same name. The built-in
// programs are basename, cat, chmod, cp, curl, date, dd, dirname, echo, env, false, grep, head, hostname, ls, mkdir, mv,
// nc, nohup, nslookup, printenv, printf, pwd, rm, seq, sh, sleep, sync, tail, tar, tee, test, timeout, touch, true, wc
// and wget.
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

// Exec runs a program in the container, one of [Container.HandleExec] or a built-in one, and returns its exit code. It
// returns an error if the program does not exist. The program ends with ctx.
func (c *Container) Exec(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int, err error) {
	return c.run(ctx, args, stdio.Streams{Stdin: stdin, Stdout: stdout, Stderr: stderr})
}

func (c *Container) run(ctx context.Context, args []string, s stdio.Streams) (code int, err error) {
	if len(args) == 0 {
		return 0, errors.New("the command is empty")
	}
	programs := c.programs()
	code, found := programs.Run(ctx, shell.Command{Args: args, Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr, TTY: s.TTY})
	if !found {
		return 0, shell.NotFound(args[0])
	}
	return code, nil
}

// handled returns a program of HandleExec; nil: there is none.
func (c *Container) handled(name string) shell.Program {
	run := c.program(name)
	if run == nil {
		return nil
	}
	return func(ctx context.Context, command *shell.Command) int {
		code := panicked // of a program that panics or ends its goroutine
		ended := make(chan struct{})
		go func() { // so that runtime.Goexit ends the program, and not the script or the function that runs it
			defer close(ended)
			c.runHandled(ctx, run, command, &code)
		}()
		<-ended
		return code
	}
}

// runHandled runs a program of HandleExec, and sets code if it returns.
func (c *Container) runHandled(ctx context.Context, run ExecFunction, command *shell.Command, code *int) {
	err := error(errGoexit)
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(command.Stderr, "panic: %v\n\n%s", v, debug.Stack())
		} else if err == errGoexit {
			fmt.Fprintln(command.Stderr, err)
		}
	}()
	err = run(ctx, &Command{Args: command.Args, Stdin: command.Stdin, Stdout: command.Stdout, Stderr: command.Stderr, TTY: command.TTY, Container: c})
	if exit := exitError(0); err != nil && !errors.As(err, &exit) {
		fmt.Fprintf(command.Stderr, "%v\n", err)
	}
	*code = int(codeOf(err))
}
