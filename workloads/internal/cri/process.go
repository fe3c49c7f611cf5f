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
	// Files are the files of the container.
	Files *files.Root
	// Look returns the files of a container that starts without them.
	Look func(context.Context) (*files.Root, error)
	// Hostname is the hostname of the pod, and IP its address.
	Hostname, IP string
	// Host is the pod on the network; nil: the nodes have no network.
	Host *network.Host
	// Log takes the output of the container. It ends when the container has exited.
	Log *stdio.Log
	// Stdin is the standard input of the container; nil: it is empty. It ends when the container has exited.
	Stdin *stdio.Input
	// StartedAt is the time of the start. It is in the past if the agent takes over a container that already runs.
	StartedAt time.Time
	// Changed makes the agent check the process. A process calls it when it exits or changes without a signal at a time
	// that Next has not announced. It is safe for concurrent use.
	Changed func()
}

// ContainerKind is the kind of a container, which depends on the list of the pod's spec that has it.
type ContainerKind int

// The kinds of containers. A sidecar is an init container with the restart policy Always.
const (
	Main ContainerKind = iota
	Init
	Sidecar
	Ephemeral
)

// Process is a running container. The agent calls its methods with the current time, from one goroutine.
type Process interface {
	// Exit returns the exit of the process; nil: it runs.
	Exit(now time.Time) *Exit
	// Probe runs a probe. If it fails or cannot be run, output has the reason. If the probe takes time, the result is
	// Pending, and the process calls Changed at its end.
	Probe(kind ProbeKind, now time.Time) (result ProbeResult, output string)
	// Next returns the next time at which the process exits or the result of a probe changes by itself; zero: not before
	// a signal or a call of Changed.
	Next(now time.Time) time.Time
	// Steady reports whether Next announces each change of a probe's result. If not, probes run in every period.
	Steady() bool
	// Exec runs a program in the container, on the goroutine of the caller; it is safe for concurrent use. It returns an
	// error if the program does not exist.
	Exec(ctx context.Context, command []string, s stdio.Streams) (code int, err error)
	// Terminate sends SIGTERM, and Kill sends SIGKILL.
	Terminate(now time.Time)
	Kill(now time.Time)
}

// Exit is the exit of a process.
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
	Unrunnable // for example the program does not exist; a kubelet ignores the result
	Warning    // success with a warning in the output
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

// String returns the kind as the kubelet's Events begin with it.
func (k ProbeKind) String() string {
	return [...]string{"Readiness", "Liveness", "Startup"}[k]
}

// ProbeOf returns a probe of a container; nil: it does not have one.
func ProbeOf(spec *corev1.Container, kind ProbeKind) *corev1.Probe {
	return [...]*corev1.Probe{Readiness: spec.ReadinessProbe, Liveness: spec.LivenessProbe, Startup: spec.StartupProbe}[kind]
}

// checkPort returns an error if the container does not have the port that a probe names, so that a kubelet cannot run
// the probe.
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

// KindOf returns the kind of a container of a pod.
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

// ExecError returns the error of a container runtime for a program that it cannot run in the container with the
// identifier.
func ExecError(id string, err error) error {
	return fmt.Errorf("rpc error: code = Unknown desc = failed to exec in container: failed to start exec %q: OCI runtime exec failed: exec failed: unable to start container process: %w: unknown",
		id, err)
}

// ErrExecExited is the error of a container runtime for a program in a container that has ended.
var ErrExecExited = errors.New("rpc error: code = Unknown desc = failed to exec in container: container is in CONTAINER_EXITED state")
