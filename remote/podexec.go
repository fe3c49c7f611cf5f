package remote

import (
	"context"
	"io"
)

// PodExec is a program that [Cluster.Exec] runs in a container.
type PodExec struct {
	Namespace string // that of the Pod; empty: default
	Pod       string
	Container string   // empty: the only one of the Pod
	Args      []string // the program and its arguments

	Stdin          io.Reader // nil: empty
	Stdout, Stderr io.Writer // nil: what the program writes is dropped
	TTY            bool      // the streams are those of a terminal: Stdout gets everything
}

// Exec runs a program in a container of a Pod of a cluster with [Workloads], as kubectl exec does, and returns its exit code. It needs no
// socket, so it works in bubbles. The error is the API server's or the kubelet's if the program cannot be run, and that of the context if ctx ends before
// the program. When Exec returns, nothing is written to Stdout and Stderr any more; a read of Stdin may go on.
//
// It acts as the administrator, fails in a cluster without workloads, and cannot be used by a controller in an exploration.
func (c *Cluster) Exec(ctx context.Context, e PodExec) (code int, err error) {
	var result struct{ Code int }
	err = c.withStreams(&execStreams{stdin: e.Stdin, stdout: e.Stdout, stderr: e.Stderr}, func(streams *callable) error {
		return c.doWith(ctx, "POST", "/exec", map[string]any{
			"namespace": e.Namespace, "pod": e.Pod, "container": e.Container, "args": e.Args, "tty": e.TTY, "function": streams.Function, "url": streams.URL,
		}, &result)
	})
	return result.Code, err
}

// PodAttach is a running container that [Cluster.AttachPod] attaches to.
type PodAttach struct {
	Namespace string // that of the Pod; empty: default
	Pod       string
	Container string // empty: the only one of the Pod

	Stdin          io.Reader // for a container with stdin: true; nil: the input of the container stays as it is
	Stdout, Stderr io.Writer // nil: what the container writes is dropped
	TTY            bool      // the container has tty: true; Stdout gets everything
}

// AttachPod connects the test with the streams of a running container of a cluster with [Workloads], as kubectl attach does, until the container has ended,
// or Stdin ends and the container does not have stdinOnce, or ctx ends, whose error it returns then. It needs no socket, so it works in bubbles. What the
// container has written before is in its log. When AttachPod returns, nothing is written to Stdout and Stderr any more; a read of Stdin may go on.
// Stdout and Stderr have no order between them.
//
// It acts as the administrator, fails in a cluster without workloads, and cannot be used by a controller in an exploration.
func (c *Cluster) AttachPod(ctx context.Context, a PodAttach) error {
	return c.withStreams(&execStreams{stdin: a.Stdin, stdout: a.Stdout, stderr: a.Stderr}, func(streams *callable) error {
		return c.doWith(withoutHurry(ctx), "POST", "/attach", map[string]any{
			"namespace": a.Namespace, "pod": a.Pod, "container": a.Container, "stdin": a.Stdin != nil, "tty": a.TTY, "function": streams.Function, "url": streams.URL,
		}, nil)
	})
}
