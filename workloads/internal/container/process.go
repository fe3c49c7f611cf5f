package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"sync"
	"time"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
)

// exitError is the error of [Exit].
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Exit returns an error with which a function ends its container with an exit code.
func Exit(code int) error { return exitError(code) }

// The signals as exit codes: 128 and the number of the signal.
const (
	panicked = 2
	killed   = 137
)

// process is a container that runs. It is a cri.Process.
type process struct {
	runtime   *Runtime
	wanted    cri.Container
	program   bool // a program of the system or a script, which SIGKILL ends
	script    bool // a script
	container *Container
	ctx       context.Context // until SIGTERM
	cancel    context.CancelFunc
	alive     context.Context // until the container has ended
	ended     context.CancelFunc

	mu         sync.Mutex
	exit       *cri.Exit
	terminated time.Time // when SIGTERM came
	probes     map[cri.ProbeKind]*probe
}

func newProcess(r *Runtime, container cri.Container, program bool) *process {
	p := &process{runtime: r, wanted: container, program: program, probes: map[cri.ProbeKind]*probe{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.alive, p.ended = context.WithCancel(context.Background())
	p.container = newContainer(p)
	return p
}

// run runs the function, and records its exit.
func (p *process) run(function Function) {
	defer p.cancel()
	err := error(errGoexit) // of a function that ends its goroutine
	defer func() {
		if err == errGoexit {
			fmt.Fprintln(p.container.Stderr, err)
		}
		p.end(exitOf(err))
	}()
	err = p.call(function)
	if code := exitError(0); err != nil && !errors.As(err, &code) && !errors.Is(err, errPanic) {
		fmt.Fprintf(p.container.Stderr, "%v\n", err)
	}
}

// exitOf returns the exit of a container whose function has returned an error.
func exitOf(err error) cri.Exit {
	exit := cri.Exit{Code: codeOf(err), Reason: "Completed"}
	if exit.Code != 0 {
		exit.Reason = "Error"
	}
	return exit
}

// The errors of functions that have not returned.
var (
	errPanic  = errors.New("panic") // the log has the stack
	errGoexit = errors.New("the function has ended its goroutine with runtime.Goexit, as t.Fatal and t.FailNow do; it must return")
)

func (p *process) call(function Function) (err error) {
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(p.container.Stderr, "panic: %v\n\n%s", v, debug.Stack())
			err = errPanic
		}
	}()
	labelled(p.ctx, p.runtime.prefix()+p.String(), func(ctx context.Context) { err = function(ctx, p.container) })
	return err
}

func codeOf(err error) int32 {
	code := exitError(0)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errPanic), errors.Is(err, errGoexit):
		return panicked
	case errors.As(err, &code):
		return int32(code) & 0xff
	}
	return 1
}

// end records the exit of the container, unless it has ended before.
func (p *process) end(exit cri.Exit) {
	p.ended()
	if p.container.sockets != nil {
		p.container.sockets.Close()
	}
	p.wanted.Log.Close()
	if p.wanted.Stdin != nil {
		p.wanted.Stdin.Close()
	}
	exit.At, exit.Message = time.Now(), p.terminationMessage(exit.Code)
	p.mu.Lock()
	first := p.exit == nil
	if first {
		p.exit = &exit
	}
	p.mu.Unlock()
	if first {
		p.wanted.Changed()
	}
}

// messageLimit is the limit of termination messages in bytes.
const messageLimit = 4096

// terminationMessage returns the content of the container's terminationMessagePath. If that is empty, the container has
// failed and the policy is FallbackToLogsOnError, it returns the end of the log.
func (p *process) terminationMessage(code int32) string {
	spec := p.wanted.Spec
	if spec.TerminationMessagePath != "" {
		data, err := p.wanted.Files.ReadFile(spec.TerminationMessagePath)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Sprintf("Error on reading termination log %s: %v", spec.TerminationMessagePath, err)
		}
		if len(data) > messageLimit {
			data = data[len(data)-messageLimit:]
		}
		if len(data) > 0 {
			return string(data)
		}
	}
	return cri.MessageOfLog(spec, p.wanted.Log, code)
}

// Exec implements cri.Process. Close reports a program that does not end with its context.
func (p *process) Exec(ctx context.Context, command []string, s stdio.Streams) (int, error) {
	type result struct {
		code int
		err  error
	}
	ended := make(chan result, 1)
	p.runtime.run(fmt.Sprintf("the program %q in %s", command, p), func() {
		p.awaitPrograms(ctx)
		code, err := p.container.run(ctx, command, s)
		ended <- result{code, err}
	})
	select {
	case r := <-ended:
		return r.code, r.err
	case <-ctx.Done():
		return killed, nil
	}
}

// programDelay is the time from the start of a container until programs run in it, which a container runtime needs as
// well. Meanwhile the function calls HandleExec, so a client that has just seen the container Running finds the
// programs.
const programDelay = 10 * time.Millisecond

// awaitPrograms waits until programs may run in the container.
func (p *process) awaitPrograms(ctx context.Context) {
	timer := time.NewTimer(time.Until(p.wanted.StartedAt.Add(programDelay)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.ctx.Done():
	case <-ctx.Done():
	}
}

// Exit implements cri.Process.
func (p *process) Exit(time.Time) *cri.Exit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit
}

// Next implements cri.Process: the function decides when it ends.
func (p *process) Next(time.Time) time.Time { return time.Time{} }

// Steady implements cri.Process.
func (p *process) Steady() bool { return false }

// Terminate implements cri.Process.
func (p *process) Terminate(now time.Time) {
	p.mu.Lock()
	p.terminated = now
	p.mu.Unlock()
	p.cancel()
}

// Kill implements cri.Process.
func (p *process) Kill(now time.Time) {
	p.mu.Lock()
	after := now.Sub(p.terminated)
	ended := p.exit != nil
	p.mu.Unlock()
	p.cancel()
	p.container.kill()
	if ended {
		return
	}
	if err := takeMessage(p.container); err != nil {
		p.runtime.config.Report(fmt.Errorf("the termination message of %s: %w", p, err))
	}
	p.end(cri.Exit{Code: killed, Reason: "Error"})
	if p.program {
		return
	}
	p.runtime.config.Report(fmt.Errorf("%s has not returned within %v of SIGTERM; the function must return when its context is done", p, after.Round(time.Second)))
}

// String returns the name of the container for errors.
func (p *process) String() string {
	return fmt.Sprintf("container %s of pod %s/%s (image %s)", p.wanted.Spec.Name, p.wanted.Pod.Namespace, p.wanted.Pod.Name, p.wanted.Spec.Image)
}
