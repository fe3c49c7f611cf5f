package host

import (
	"cmp"
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
)

// PodExec is a program to run in a container of a Pod, as kubectl exec does.
type PodExec struct {
	Namespace string   `json:"namespace,omitempty" doc:"that of the Pod; default: default"`
	Pod       string   `json:"pod" doc:"the name of the Pod"`
	Container string   `json:"container,omitempty" doc:"the container; default: the only one of the Pod"`
	Args      []string `json:"args" doc:"the program and its arguments"`
	Function
}

// PodExecuted is the result of a program.
type PodExecuted struct {
	Code int `json:"code" doc:"the exit code of the program"`
}

// execInPod runs a program in a Pod. The function of the client reads and writes its streams.
func execInPod(c call, e PodExec) (PodExecuted, error) {
	handler, err := c.host.function(e.Function)
	if err != nil {
		return PodExecuted{}, err
	}
	life := c.cluster.life()
	if life == nil {
		return PodExecuted{}, errNothingLives
	}
	url := c.cluster.Clientset().CoreV1().RESTClient().Post().Resource("pods").Namespace(cmp.Or(e.Namespace, corev1.NamespaceDefault)).Name(e.Pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: e.Container, Command: e.Args, Stdin: true, Stdout: true, Stderr: true}, scheme.ParameterCodec).URL()
	executor, err := life.NewSPDYExecutor(c.cluster.RESTConfig(), http.MethodPost, url)
	if err != nil {
		return PodExecuted{}, err
	}
	stream := func(name string) execStream { return execStream{c, handler, name} }
	err = executor.StreamWithContext(c, remotecommand.StreamOptions{Stdin: stream("stdin"), Stdout: stream("stdout"), Stderr: stream("stderr")})
	if ended := (exec.CodeExitError{}); errors.As(err, &ended) {
		return PodExecuted{ended.Code}, nil
	}
	return PodExecuted{}, failed(err)
}
