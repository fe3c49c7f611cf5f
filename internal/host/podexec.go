package host

import (
	"cmp"
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
)

// PodStreams names a container whose streams a function of the client reads and writes.
type PodStreams struct {
	Namespace string `json:"namespace,omitempty" doc:"that of the Pod; default: default"`
	Pod       string `json:"pod" doc:"the name of the Pod"`
	Container string `json:"container,omitempty" doc:"the container; default: the only one of the Pod"`
	TTY       bool   `json:"tty,omitempty" doc:"the streams are those of a terminal, where stdout has stderr, too"`
	Function
}

// PodExec is a program to run in a container of a Pod, as kubectl exec does.
type PodExec struct {
	Args []string `json:"args" doc:"the program and its arguments"`
	PodStreams
}

// PodAttach is a container of a Pod to attach to, as kubectl attach does.
type PodAttach struct {
	Stdin bool `json:"stdin,omitempty" doc:"whether the input of the container is that of the client"`
	PodStreams
}

// PodExecuted is the result of a program.
type PodExecuted struct {
	Code int `json:"code" doc:"the exit code of the program"`
}

// execInPod runs a program in a Pod. The function of the client reads and writes its streams.
func execInPod(c call, e PodExec) (PodExecuted, error) {
	err := e.stream(c, "exec", &corev1.PodExecOptions{Container: e.Container, Command: e.Args, Stdin: true, Stdout: true, Stderr: !e.TTY, TTY: e.TTY}, true)
	if ended := (exec.CodeExitError{}); errors.As(err, &ended) {
		return PodExecuted{ended.Code}, nil
	}
	return PodExecuted{}, err
}

// attachToPod connects a function of the client with the streams of a container.
func attachToPod(c call, a PodAttach) (none, error) {
	return none{}, a.stream(c, "attach", &corev1.PodAttachOptions{Container: a.Container, Stdin: a.Stdin, Stdout: true, Stderr: !a.TTY, TTY: a.TTY}, a.Stdin)
}

var errNoPod = refuse(http.StatusBadRequest, "pod is missing: give the name of a Pod")

// stream carries the streams of a subresource between a Pod and the client.
func (p PodStreams) stream(c call, subresource string, options runtime.Object, stdin bool) error {
	if p.Pod == "" {
		return errNoPod
	}
	handler, err := c.host.function(p.Function)
	if err != nil {
		return err
	}
	if err := c.cluster.checkUnexplored(); err != nil {
		return err
	}
	life := c.cluster.life()
	if life == nil {
		return errNothingLives
	}
	url := c.cluster.Clientset().CoreV1().RESTClient().Post().Resource("pods").Namespace(cmp.Or(p.Namespace, corev1.NamespaceDefault)).Name(p.Pod).SubResource(subresource).
		VersionedParams(options, scheme.ParameterCodec).URL()
	executor, err := life.NewSPDYExecutor(c.cluster.RESTConfig(), http.MethodPost, url)
	if err != nil {
		return err
	}
	stream := func(name string) execStream { return execStream{c, handler, name} }
	streams := remotecommand.StreamOptions{Stdout: stream("stdout"), Tty: p.TTY}
	if stdin {
		streams.Stdin = stream("stdin")
	}
	if !p.TTY {
		streams.Stderr = stream("stderr")
	}
	return failed(executor.StreamWithContext(c, streams))
}
