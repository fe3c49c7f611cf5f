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
}

// Exec runs a program in a container of a Pod of a cluster with [Workloads], as kubectl exec does, and returns its exit code. It needs no
// socket, so it works in bubbles. The error is the API server's or the kubelet's if the program cannot be run, and that of the context if ctx ends before
// the program. When Exec returns, nothing is written to Stdout and Stderr any more; a read of Stdin may go on.
func (c *Cluster) Exec(ctx context.Context, e PodExec) (code int, err error) {
	var result struct{ Code int }
	err = c.withStreams(&execStreams{stdin: e.Stdin, stdout: e.Stdout, stderr: e.Stderr}, func(streams *callable) error {
		return c.doWith(ctx, "POST", "/exec", map[string]any{
			"namespace": e.Namespace, "pod": e.Pod, "container": e.Container, "args": e.Args, "function": streams.Function, "url": streams.URL,
		}, &result)
	})
	return result.Code, err
}
