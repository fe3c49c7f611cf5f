package cri

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/probe"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/network"
	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
)

// A Runtime starts the processes of containers. Its methods return at once, and are called from the goroutines of nodes.
type Runtime interface {
	// Has reports whether the runtime has an image.
	Has(image string) bool
	// Start starts a process of a container whose image the runtime has.
	Start(Container) Process
}

// Container is a container that starts.
type Container struct {
	Pod  *corev1.Pod       // read-only
	Spec *corev1.Container // read-only
	Kind ContainerKind
	// ID is the identifier of this start of the container.
	ID string
	// Attempt is the number of starts before this one.
	Attempt int
	// Command and Args are those of the specification, with $(NAME) replaced.
	Command, Args []string
	// Environment has "NAME=value" for each variable, in the order of the names.
	Environment []string
	// Files are what the container sees.
	Files *files.Root
	// Look returns the files of a container that starts without them.
	Look func(context.Context) (*files.Root, error)
	// Hostname is the name of the pod as a host, and IP its address.
	Hostname, IP string
	// Host is the pod on the network. It is nil if the nodes have no network.
	Host *network.Host
	// Log takes what the container writes to its standard streams. It ends when the container has exited.
	Log *stdio.Log
	// Stdin is what the container reads from its standard input. It ends when the container has exited. nil: it is empty.
	Stdin *stdio.Input
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
	// Probe runs a probe, and returns its output if it fails, or why it cannot be run. If that takes time, the result is Pending, and the process
	// calls Changed when it is there.
	Probe(kind ProbeKind, now time.Time) (result ProbeResult, output string)
	// Next returns the next time at which the process exits or answers a probe differently by itself. The zero time
	// means that this does not happen before a signal or a call of Changed.
	Next(now time.Time) time.Time
	// Steady reports whether Next announces each change of the result of a probe. If not, probes run in every period.
	Steady() bool
	// Exec runs a program in the container, on the goroutine of the caller; it is safe for concurrent use. An error is that the
	// program does not exist.
	Exec(ctx context.Context, command []string, s stdio.Streams) (code int, err error)
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

// ProbeResult is the result of a probe.
type ProbeResult int

// The results of probes.
const (
	Failure ProbeResult = iota
	Success
	Pending
	Unrunnable // such as a program that does not exist; a kubelet ignores that
	Warning    // it has succeeded, and the output says why that may be a mistake
)

// resultOf returns Success or Failure.
func resultOf(ok bool) ProbeResult {
	if ok {
		return Success
	}
	return Failure
}

// ProbeKind is a kind of probe.
type ProbeKind int

// The kinds of probes.
const (
	Readiness ProbeKind = iota
	Liveness
	Startup
	Kinds
)

// String returns the word that events of the kubelet begin with.
func (k ProbeKind) String() string {
	return [...]string{"Readiness", "Liveness", "Startup"}[k]
}

// ProbeOf returns a probe of a container; nil: it does not have one.
func ProbeOf(spec *corev1.Container, kind ProbeKind) *corev1.Probe {
	return [...]*corev1.Probe{Readiness: spec.ReadinessProbe, Liveness: spec.LivenessProbe, Startup: spec.StartupProbe}[kind]
}

// checkPort returns why a kubelet cannot run a probe: the container does not have the port that it names.
func checkPort(spec *corev1.Probe, container *corev1.Container) (err error) {
	switch {
	case spec == nil:
	case spec.HTTPGet != nil:
		_, err = probe.ResolveContainerPort(spec.HTTPGet.Port, container)
	case spec.TCPSocket != nil:
		_, err = probe.ResolveContainerPort(spec.TCPSocket.Port, container)
	}
	return err
}

// KindOf returns the list of the spec that a container is in.
func KindOf(pod *corev1.Pod, name string) ContainerKind {
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == name {
			if podutil.IsRestartableInitContainer(c) {
				return Sidecar
			}
			return Init
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		if pod.Spec.EphemeralContainers[i].Name == name {
			return Ephemeral
		}
	}
	return Main
}

// ExecError returns the error of a container runtime for a program that it cannot run in a container, by the container's identifier.
func ExecError(id string, err error) error {
	return fmt.Errorf("rpc error: code = Unknown desc = failed to exec in container: failed to start exec %q: OCI runtime exec failed: exec failed: unable to start container process: %w: unknown",
		id, err)
}

// ErrExecExited is the error of a container runtime for a program in a container that has ended.
var ErrExecExited = errors.New("rpc error: code = Unknown desc = failed to exec in container: container is in CONTAINER_EXITED state")
