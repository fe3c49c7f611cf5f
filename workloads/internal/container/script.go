package container

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/shell"
)

// StartScript starts a container whose command is a built-in program of package shell.
func (r *Runtime) StartScript(container cri.Container) cri.Process {
	p := newProcess(r, container, true)
	p.script = true
	r.begin(p, p.runScript)
	return p
}

// runScript runs the command of the container. Without a trap SIGTERM does not end it, because it is the first process
// of a PID namespace; with a shared PID namespace it ends.
func (p *process) runScript(ctx context.Context, c *Container) error {
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	programs := c.programs()
	programs.Passed = time.Since(p.wanted.StartedAt) // not 0 if the container has run before
	programs.Terminated = ctx.Done()
	var died atomic.Bool
	if spec := &p.wanted.Pod.Spec; spec.HostPID || ptr.Deref(spec.ShareProcessNamespace, false) {
		defer context.AfterFunc(ctx, func() {
			if !programs.Trapped() {
				died.Store(true)
				cancel()
			}
		})()
	}
	go func() {
		select {
		case <-c.killed:
			cancel()
		case <-run.Done():
		}
	}()
	code, _ := programs.Run(run, shell.Command{
		Args: slices.Concat(c.Command, c.Args), Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, TTY: p.wanted.Spec.TTY,
	})
	if died.Load() {
		code = shell.Terminated
	}
	if code == 0 {
		return nil
	}
	return Exit(code)
}

// programs returns the shell of the container.
func (c *Container) programs() *shell.Shell {
	s := &shell.Shell{Files: c.files, Hostname: c.Hostname, Dir: c.Dir, Environment: c.Environment, Program: c.handled, Dial: c.Dial}
	if c.sockets != nil {
		s.Listening = c.sockets.Listening
	}
	return s
}
