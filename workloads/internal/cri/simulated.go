package cri

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/workloads/internal/shell"
	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
	"github.com/fakecluster/fakecluster/workloads/internal/timing"
)

// simulated is a process that follows a plan.
type simulated struct {
	Plan
	startedAt time.Time
	signal    *Exit // the exit after a signal
	container Container
}

func startSimulated(p Plan, c Container) *simulated {
	if p.log != "" {
		_, _ = io.WriteString(c.Log.Writer(stdio.Stdout), strings.TrimSuffix(p.log, "\n")+"\n") // a log returns no error
	}
	return &simulated{Plan: p, startedAt: c.StartedAt, container: c}
}

// Exec implements Process. It runs the programs of package shell on the files of the container. The image pause has no
// programs.
func (s *simulated) Exec(ctx context.Context, command []string, streams stdio.Streams) (int, error) {
	if len(command) == 0 {
		return 0, errors.New("the command is empty")
	}
	if pauses(s.container.Spec) {
		return 0, shell.NotFound(command[0])
	}
	root, err := s.container.Look(ctx)
	if err != nil {
		return 0, err
	}
	c := &s.container
	programs := &shell.Shell{Files: root, Hostname: c.Hostname, Dir: c.Spec.WorkingDir, Environment: append([]string{"HOSTNAME=" + c.Hostname}, c.Environment...)}
	if c.Host != nil {
		sockets := c.Host.NewProcess()
		programs.Dial = sockets.Dial
		context.AfterFunc(ctx, sockets.Close) // the context ends with the program
	}
	type result struct {
		code  int
		found bool
	}
	ended := make(chan result, 1)
	run := func() {
		code, found := programs.Run(ctx, shell.Command{Args: command, Stdin: streams.Stdin, Stdout: streams.Stdout, Stderr: streams.Stderr, TTY: streams.TTY})
		ended <- result{code, found}
	}
	if streams.Stdin == nil {
		run()
	} else {
		go run() // a pending read of the input ends when the caller closes the client's connection
	}
	select {
	case r := <-ended:
		if !r.found {
			return 0, shell.NotFound(command[0])
		}
		return r.code, nil
	case <-ctx.Done():
		return 137, nil
	}
}

func (s *simulated) Exit(now time.Time) *Exit {
	end := s.signal
	if s.exits {
		planned := s.exit
		planned.At = s.startedAt.Add(s.runTime)
		if end == nil || planned.At.Before(end.At) {
			end = &planned
		}
	}
	if end == nil || end.At.After(now) {
		return nil
	}
	if end.Message == "" {
		end.Message = MessageOfLog(s.container.Spec, s.container.Log, end.Code)
	}
	return end
}

func (s *simulated) Probe(kind ProbeKind, now time.Time) (ProbeResult, string) {
	age := now.Sub(s.startedAt)
	if s.Exit(now) != nil {
		return Failure, "the container has ended"
	}
	if err := checkPort(ProbeOf(s.container.Spec, kind), s.container.Spec); err != nil {
		return Unrunnable, err.Error()
	}
	switch {
	case kind == Liveness:
		return resultOf(s.unhealthyAfter == 0 || age < s.unhealthyAfter), "the behavior of the container is unhealthy"
	case kind == Startup:
		return resultOf(age >= s.readyAfter), "the behavior of the container is not started"
	}
	return resultOf(!s.neverReady && age >= s.readyAfter), "the behavior of the container is not ready"
}

func (s *simulated) Next(now time.Time) time.Time {
	next := time.Time{}
	for _, t := range []time.Time{s.startedAt.Add(s.readyAfter), s.startedAt.Add(s.unhealthyAfter)} {
		next = timing.Earlier(next, t, now)
	}
	if s.exits {
		next = timing.Earlier(next, s.startedAt.Add(s.runTime), now)
	}
	if s.signal != nil {
		next = timing.Earlier(next, s.signal.At, now)
	}
	return next
}

func (s *simulated) Steady() bool { return true }

func (s *simulated) Terminate(now time.Time) {
	if s.signal == nil && !s.ignoresTerm {
		s.signal = &Exit{At: now.Add(s.terminationDelay), Code: s.terminationCode, Reason: reasonOf(s.terminationCode), Message: s.message}
	}
}

func (s *simulated) Kill(now time.Time) {
	if s.signal == nil || s.signal.At.After(now) {
		s.signal = &Exit{At: now, Code: 137, Reason: "Error", Message: s.message}
	}
}
