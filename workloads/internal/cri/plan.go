package cri

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/internal/description/living"
	"github.com/fakecluster/fakecluster/workloads/internal/seeded"
	"github.com/fakecluster/fakecluster/workloads/internal/shell"
)

// defaultRunTime is the run time of a container that completes, if neither a behavior nor its command determines it.
const defaultRunTime = time.Second

// Plan is the plan of one start of a container: its behavior with all random choices made.
type Plan struct {
	PullDelay, StartDelay time.Duration
	PullError, StartError string

	readyAfter     time.Duration
	neverReady     bool
	unhealthyAfter time.Duration // zero: never

	exits   bool
	runTime time.Duration
	exit    Exit

	ignoresTerm      bool // SIGTERM does not end it
	terminationDelay time.Duration
	terminationCode  int32
	message          string
	log              string
}

// planFor returns the plan of a start. The same arguments give the same plan.
func planFor(seed uint64, b *Behavior, pod *corev1.Pod, container *corev1.Container, kind ContainerKind, attempt int) Plan {
	vary := seeded.Durations{Seed: seed, Key: pod.Namespace + "/" + pod.Name + "/" + container.Name + "/" + strconv.Itoa(attempt)}
	if b == nil {
		b = &Behavior{}
	}
	delayed := func(what string, d time.Duration) time.Duration {
		return vary.Around(what, d, b.Jitter)
	}
	p := Plan{
		PullDelay:        delayed("pull", b.PullDelay),
		PullError:        b.PullError,
		StartDelay:       delayed("start", b.StartDelay),
		StartError:       b.StartError,
		readyAfter:       delayed("ready", b.ReadyDelay),
		neverReady:       b.NeverReady,
		unhealthyAfter:   delayed("unhealthy", b.UnhealthyAfter),
		terminationDelay: b.TerminationDelay,
		message:          b.Message,
		log:              b.Log,
	}
	if b.PullDelay == 0 {
		p.PullDelay = vary.Between("pull", 100*time.Millisecond, 300*time.Millisecond)
	}
	if b.StartDelay == 0 {
		p.StartDelay = vary.Between("start", 50*time.Millisecond, 150*time.Millisecond)
	}
	if b.TerminationDelay == 0 {
		p.terminationDelay = vary.Between("termination", 10*time.Millisecond, 50*time.Millisecond)
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

// setTermination sets the effect of SIGTERM. A known command ignores it, because the first process of a PID namespace
// does unless it handles the signal. Of unknown programs, servers are assumed to shut down, and programs that run to
// completion to die.
func (p *Plan) setTermination(b *Behavior, pod *corev1.Pod, container *corev1.Container, kind ContainerKind, known bool) {
	completes := kind == Init || kind == Main && pod.Spec.RestartPolicy != corev1.RestartPolicyAlways && !pauses(container)
	switch shared := pod.Spec.HostPID || ptr.Deref(pod.Spec.ShareProcessNamespace, false); {
	case b.TerminationExitCode != nil:
		p.terminationCode = *b.TerminationExitCode
	case known && !shared && b.TerminationDelay == 0:
		p.ignoresTerm = true
	case known, completes:
		p.terminationCode = shell.Terminated
	}
}

// reasonOf returns the reason that container runtimes give to an exit code.
func reasonOf(code int32) string {
	if code == 0 {
		return "Completed"
	}
	return "Error"
}

// pauses reports whether the image is pause, which does nothing until it is stopped.
func pauses(container *corev1.Container) bool {
	image := living.Repository(container.Image)
	return image[strings.LastIndexByte(image, '/')+1:] == "pause"
}
