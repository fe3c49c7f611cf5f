package shell

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// job is a background command. It ends at the latest with its command of [Shell.Run].
type job struct {
	id     int
	cancel func()
	ended  chan struct{}
	code   int // after ended
}

// background starts a command in the background.
func (r *session) background(ctx context.Context, s *syntax.Stmt) {
	sub, err := r.deeper(ctx)
	if err != nil {
		return
	}
	l := limitsOf(ctx)
	running, cancel := context.WithCancel(ctx)
	j := &job{id: l.nextID(), cancel: cancel, ended: make(chan struct{}), code: failed}
	sub.command.Stdin = strings.NewReader("")
	foreground := *s
	foreground.Background, foreground.Disown = false, false
	if l.start(func() {
		defer close(j.ended)
		defer cancel()
		sub.statement(running, &foreground)
		if j.code = sub.end(running); running.Err() != nil {
			j.code = Terminated
		}
	}) != nil {
		cancel()
		return
	}
	r.jobs, r.lastJob, r.code = append(r.jobs, j), j.id, 0
}

// wait waits for the jobs with some numbers, or all. A signal with a trap ends it.
func wait(ctx context.Context, r *session, c *Command) int {
	jobs := r.jobs
	if len(c.Args) > 1 {
		jobs = nil
		for _, a := range c.Args[1:] {
			j := r.job(a)
			if j == nil {
				return 127
			}
			jobs = append(jobs, j)
		}
	}
	code := 0
	for _, j := range jobs {
		select {
		case <-j.ended:
		case <-ctx.Done():
			return Terminated
		case <-r.signals():
			if r.signal(ctx); r.exited {
				return r.code
			}
			return Terminated
		}
		if len(c.Args) > 1 {
			code = j.code
		}
	}
	return code
}

// job returns the job that a number such as 8 or %1 names.
func (r *session) job(name string) *job {
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "%")); err == nil {
		for i, j := range r.jobs {
			if name[0] == '%' && n == i+1 || name[0] != '%' && n == j.id {
				return j
			}
		}
	}
	return nil
}

// kill ends jobs. With -0 it only checks that they run.
func kill(_ context.Context, r *session, c *Command) int {
	args, code, check := c.Args[1:], 0, false
	if len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		if check = args[0] == "-0"; args[0] == "-s" && len(args) > 1 {
			args = args[1:]
		}
		args = args[1:]
	}
	for _, a := range args {
		j := r.job(a)
		running := j != nil
		if running {
			select {
			case <-j.ended:
				running = false
			default:
			}
		}
		switch {
		case !running && a == "1" && check: // the first process of the container
		case !running && a == "1":
			code = c.fail(1, "%v", unsupported("kill 1"))
		case !running:
			code = c.fail(1, "can't kill pid %s: No such process", a)
		case !check:
			j.cancel()
		}
	}
	return code
}

// listJobs lists running background commands.
func listJobs(_ context.Context, r *session, c *Command) int {
	for i, j := range r.jobs {
		select {
		case <-j.ended:
		default:
			fmt.Fprintf(c.Stdout, "[%d] %d Running\n", i+1, j.id)
		}
	}
	return 0
}

// signals returns a channel that is closed by SIGTERM; nil if this shell has no trap for it, or has handled it.
func (r *session) signals() <-chan struct{} {
	if !r.main || r.handled || r.traps["TERM"] == "" {
		return nil
	}
	return r.shell.Terminated
}

// signal runs the trap of SIGTERM if the signal has come.
func (r *session) signal(ctx context.Context) {
	came := r.signals()
	if came == nil || r.inTrap {
		return
	}
	select {
	case <-came:
		r.handled = true
		r.trap(ctx, "TERM")
	default:
	}
}

// trap runs the commands for a signal.
func (r *session) trap(ctx context.Context, name string) {
	action := r.traps[name]
	if action == "" || r.inTrap && name != "EXIT" {
		return
	}
	r.inTrap = true
	code := r.code
	r.script(ctx, action)
	if r.inTrap = false; !r.exited {
		r.code = code
	}
}

// setTrap sets the commands for signals.
func setTrap(_ context.Context, r *session, c *Command) int {
	args := c.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		for _, name := range signalNames {
			if action, ok := r.traps[name]; ok {
				fmt.Fprintf(c.Stdout, "trap -- %s %s\n", quoted(action), name)
			}
		}
		return 0
	}
	action := args[0]
	if len(args) > 1 {
		args = args[1:]
	} else {
		action = "-"
	}
	code := 0
	for _, a := range args {
		name := signalName(a)
		switch {
		case name == "":
			code = c.fail(1, "%s: invalid signal specification", a)
		case action == "-":
			delete(r.traps, name)
		default:
			r.traps[name] = action
		}
	}
	if _, traps := r.traps["TERM"]; r.main {
		r.shell.trapped.Store(traps)
	}
	return code
}

var signalNames = []string{"EXIT", "HUP", "INT", "QUIT", "ABRT", "KILL", "USR1", "USR2", "PIPE", "ALRM", "TERM", "CHLD", "WINCH", "ERR", "DEBUG", "RETURN"}

// signalName returns the name of a signal without SIG for a name or a number.
func signalName(text string) string {
	text = strings.TrimPrefix(strings.ToUpper(text), "SIG")
	if name, ok := map[string]string{"0": "EXIT", "1": "HUP", "2": "INT", "3": "QUIT", "6": "ABRT", "9": "KILL", "10": "USR1", "12": "USR2", "13": "PIPE", "14": "ALRM", "15": "TERM"}[text]; ok {
		return name
	}
	for _, name := range signalNames {
		if name == text {
			return name
		}
	}
	return ""
}
