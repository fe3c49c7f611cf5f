package node

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/internal/workloadconfig"
	"github.com/fakecluster/fakecluster/workloads/internal/shell"
	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
)

// defaultRunTime is how long a container runs that completes without a behavior or command that says more.
const defaultRunTime = time.Second

// plan is what one start of a container will do: its behavior with all random choices made.
type plan struct {
	pullDelay, startDelay time.Duration
	pullError, startError string

	readyAfter     time.Duration
	neverReady     bool
	unhealthyAfter time.Duration // zero: never

	exits   bool
	runTime time.Duration
	exit    Exit

	deaf             bool // SIGTERM does not end it
	terminationDelay time.Duration
	terminationCode  int32
	message          string
	log              string
}

// planFor makes the plan for a start. The same arguments lead to the same plan.
func planFor(seed uint64, b *Behavior, pod *corev1.Pod, container *corev1.Container, kind ContainerKind, attempt int) plan {
	vary := jitter{seed: seed, key: pod.Namespace + "/" + pod.Name + "/" + container.Name + "/" + strconv.Itoa(attempt)}
	if b == nil {
		b = &Behavior{}
	}
	delayed := func(what string, d time.Duration) time.Duration {
		return vary.around(what, d, b.Jitter)
	}
	p := plan{
		pullDelay:        delayed("pull", b.PullDelay),
		pullError:        b.PullError,
		startDelay:       delayed("start", b.StartDelay),
		startError:       b.StartError,
		readyAfter:       delayed("ready", b.ReadyDelay),
		neverReady:       b.NeverReady,
		unhealthyAfter:   delayed("unhealthy", b.UnhealthyAfter),
		terminationDelay: b.TerminationDelay,
		message:          b.Message,
		log:              b.Log,
	}
	if b.PullDelay == 0 {
		p.pullDelay = vary.between("pull", 100*time.Millisecond, 300*time.Millisecond)
	}
	if b.StartDelay == 0 {
		p.startDelay = vary.between("start", 50*time.Millisecond, 150*time.Millisecond)
	}
	if b.TerminationDelay == 0 {
		p.terminationDelay = vary.between("termination", 10*time.Millisecond, 50*time.Millisecond)
	}

	healed := b.Failures > 0 && attempt >= b.Failures
	if healed {
		p.unhealthyAfter = 0
	}
	p.runTime = delayed("run", b.RunTime)
	line, understood := parseCommand(container)
	p.setTermination(b, pod, container, kind, understood)
	switch {
	case b.Forever:
	case !healed && b.OOMKilled:
		p.exits, p.exit = true, Exit{Code: 137, Reason: "OOMKilled"}
	case !healed && b.ExitCode != nil:
		p.exits, p.exit.Code = true, *b.ExitCode
	case !healed && b.RunTime > 0:
		p.exits, p.exit.Code = true, line.code
	case understood:
		p.exits, p.runTime, p.exit.Code = !line.forever, line.runTime, line.code
	case kind == Init, kind == Main && pod.Spec.RestartPolicy != corev1.RestartPolicyAlways && !pauses(container):
		p.exits, p.runTime = true, defaultRunTime
	}
	if p.exit.Reason == "" {
		p.exit.Reason = reasonOf(p.exit.Code)
	}
	p.exit.Message = b.Message
	return p
}

// died is the exit code of a process that SIGTERM has ended: 128 and the number of the signal.
const died = 143

// setTermination sets what SIGTERM does. A known command does not handle it: as the first process of its PID namespace it is not ended
// by it. Of an unknown program nothing is known: a server is taken to shut down, and what runs to completion to die.
func (p *plan) setTermination(b *Behavior, pod *corev1.Pod, container *corev1.Container, kind ContainerKind, known bool) {
	completes := kind == Init || kind == Main && pod.Spec.RestartPolicy != corev1.RestartPolicyAlways && !pauses(container)
	switch shared := pod.Spec.HostPID || ptr.Deref(pod.Spec.ShareProcessNamespace, false); {
	case b.TerminationExitCode != nil:
		p.terminationCode = *b.TerminationExitCode
	case known && !shared && b.TerminationDelay == 0:
		p.deaf = true
	case known, completes:
		p.terminationCode = died
	}
}

// reasonOf returns the reason that container runtimes give to an exit code.
func reasonOf(code int32) string {
	if code == 0 {
		return "Completed"
	}
	return "Error"
}

// pauses reports whether the image is the one that does nothing until it is stopped.
func pauses(container *corev1.Container) bool {
	image := workloadconfig.Repository(container.Image)
	return image[strings.LastIndexByte(image, '/')+1:] == "pause"
}

// simulated is a process that follows a plan.
type simulated struct {
	plan
	startedAt time.Time
	signal    *Exit // how the process ends after a signal
	container Container
}

func startSimulated(p plan, c Container) *simulated {
	if p.log != "" {
		_, _ = io.WriteString(c.Log.Writer(stdio.Stdout), strings.TrimSuffix(p.log, "\n")+"\n") // it does not fail
	}
	return &simulated{plan: p, startedAt: c.StartedAt, container: c}
}

// Exec implements Process. There are the programs of package shell, over the files of the container. The image that does nothing has no programs.
func (s *simulated) Exec(ctx context.Context, command []string, streams stdio.Streams) (int, error) {
	if len(command) == 0 {
		return 0, errors.New("the command is empty")
	}
	if pauses(s.container.Spec) {
		return 0, shell.NotFound(command[0])
	}
	root, err := s.container.look(ctx)
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
		go run() // a read of the input ends with the connection of the client, which the caller closes
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
	if err := checkPort(probeOf(s.container.Spec, kind), s.container.Spec); err != nil {
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
		next = earlier(next, t, now)
	}
	if s.exits {
		next = earlier(next, s.startedAt.Add(s.runTime), now)
	}
	if s.signal != nil {
		next = earlier(next, s.signal.At, now)
	}
	return next
}

func (s *simulated) Steady() bool { return true }

func (s *simulated) Terminate(now time.Time) {
	if s.signal == nil && !s.deaf {
		s.signal = &Exit{At: now.Add(s.terminationDelay), Code: s.terminationCode, Reason: reasonOf(s.terminationCode), Message: s.message}
	}
}

func (s *simulated) Kill(now time.Time) {
	if s.signal == nil || s.signal.At.After(now) {
		s.signal = &Exit{At: now, Code: 137, Reason: "Error", Message: s.message}
	}
}

// earlier returns the earlier one of two times, where zero times and times that have passed do not count.
func earlier(a, b, now time.Time) time.Time {
	if b.IsZero() || !b.After(now) {
		return a
	}
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// jitter draws random durations that follow from the seed and a key.
type jitter struct {
	seed uint64
	key  string
}

// share returns a number from 0 to below 1.
func (j jitter) share(what string) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strconv.FormatUint(j.seed, 16) + "/" + j.key + "/" + what))
	// The finalizer of splitmix64 spreads the changes of the last bytes over all bits.
	x := h.Sum64()
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return float64((x^(x>>31))>>11) / (1 << 53)
}

// between returns a duration in whole milliseconds.
func (j jitter) between(what string, low, high time.Duration) time.Duration {
	return (low + time.Duration(j.share(what)*float64(high-low))).Truncate(time.Millisecond)
}

func (j jitter) around(what string, d time.Duration, share float64) time.Duration {
	return d + time.Duration((2*j.share(what)-1)*share*float64(d))
}
