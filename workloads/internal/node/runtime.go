package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A Runtime starts the processes of containers. Its methods return at once, and are called from the goroutine of a node.
type Runtime interface {
	// Start starts a process. It returns nil if the runtime does not have the image of the container.
	Start(Container) Process
}

// Container is a container that starts.
type Container struct {
	Pod  *corev1.Pod       // read-only
	Spec *corev1.Container // read-only
	Kind ContainerKind
	// Attempt is the number of starts before this one.
	Attempt int
	// StartedAt is the time of the start. It is in the past if the agent takes over a container that already runs.
	StartedAt time.Time
	// Changed makes the agent look at the process. A process calls it when it exits or changes without a signal at a
	// time that Next did not announce. It is safe for concurrent use.
	Changed func()
}

// ContainerKind is the list of the pod's spec that a container is in.
type ContainerKind int

// The kinds of containers. A sidecar is an init container with the restart policy Always.
const (
	Main ContainerKind = iota
	Init
	Sidecar
	Ephemeral
)

// Process is a running container. The agent calls its methods with the present time, from one goroutine.
type Process interface {
	// Exit returns how the process has ended, and nil while it runs.
	Exit(now time.Time) *Exit
	// Probe runs a probe, and returns its output if it fails.
	Probe(kind ProbeKind, now time.Time) (ok bool, output string)
	// Next returns the next time at which the process exits or answers a probe differently by itself. The zero time
	// means that this does not happen before a signal or a call of Changed.
	Next(now time.Time) time.Time
	// Steady reports whether Next announces each change of the result of a probe. If not, probes run in every period.
	Steady() bool
	// Terminate sends SIGTERM, and Kill sends SIGKILL.
	Terminate(now time.Time)
	Kill(now time.Time)
}

// Exit is how a process has ended.
type Exit struct {
	At      time.Time
	Code    int32
	Reason  string // Completed, Error or OOMKilled
	Message string // the termination message
}

// ProbeKind is a kind of probe.
type ProbeKind int

// The kinds of probes.
const (
	Readiness ProbeKind = iota
	Liveness
	Startup
)

// String returns the word that events of the kubelet begin with.
func (k ProbeKind) String() string {
	return [...]string{"Readiness", "Liveness", "Startup"}[k]
}
