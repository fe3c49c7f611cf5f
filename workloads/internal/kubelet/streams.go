package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	utilexec "k8s.io/utils/exec"

	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
)

// The timeouts of containerd for an idle stream, and for the client to open all streams.
const (
	idleTimeout     = 4 * time.Hour
	creationTimeout = 30 * time.Second
)

// exec runs a command in a container. It ends with its client.
func (s *Server) exec(w http.ResponseWriter, req *http.Request) {
	options, pod, ok := s.streams(w, req)
	if !ok {
		return
	}
	name := req.PathValue("container")
	c := s.node.Running(pod, name)
	if c == nil {
		fail(w, http.StatusInternalServerError, fmt.Errorf("container not found (%q)", name))
		return
	}
	w, req, leave := withClientContext(w, req)
	defer leave()
	remotecommand.ServeExec(w, req, executor{c}, pod.Name, string(pod.UID), name, req.URL.Query()["command"], options,
		idleTimeout, creationTimeout, remotecommand.SupportedStreamingProtocols)
}

// attach connects the client with the standard streams of a container.
func (s *Server) attach(w http.ResponseWriter, req *http.Request) {
	options, pod, ok := s.streams(w, req)
	if !ok {
		return
	}
	name := req.PathValue("container")
	c, spec := s.node.Running(pod, name), kubecontainer.GetContainerSpec(pod, name)
	if c == nil || spec == nil {
		fail(w, http.StatusInternalServerError, fmt.Errorf("container %s not found in pod %s", name, kubecontainer.GetPodFullName(pod)))
		return
	}
	if options.TTY = spec.TTY; options.TTY {
		options.Stderr = false
	}
	if !options.Stdin && !options.Stdout && !options.Stderr {
		fail(w, http.StatusBadRequest, errors.New("one of stdin, stdout, and stderr must be set"))
		return
	}
	w, req, leave := withClientContext(w, req)
	defer leave()
	remotecommand.ServeAttach(w, req, attacher{c, spec}, pod.Name, string(pod.UID), name, options,
		idleTimeout, creationTimeout, remotecommand.SupportedStreamingProtocols)
}

// streams returns the streams that the client requests, and the pod. If it returns false, it has answered the request
// with an error.
func (s *Server) streams(w http.ResponseWriter, req *http.Request) (*remotecommand.Options, *corev1.Pod, bool) {
	options, err := remotecommand.NewOptions(req)
	if err != nil {
		fail(w, http.StatusBadRequest, err)
		return nil, nil, false
	}
	pod := s.node.Pod(req.PathValue("namespace"), req.PathValue("pod"))
	if pod == nil {
		fail(w, http.StatusNotFound, errors.New("pod does not exist"))
		return nil, nil, false
	}
	return options, pod, true
}

// executor implements remotecommand.Executor.
type executor struct{ container *Container }

// ExecInContainer implements remotecommand.Executor.
func (e executor) ExecInContainer(ctx context.Context, _, _, _ string, command []string, in io.Reader, out, errs io.WriteCloser, tty bool,
	resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	if resize != nil {
		go drain(resize)
	}
	code, err := e.container.Exec(ctx, command, streamsOf(in, out, errs, tty))
	switch {
	case err != nil: // as containerd
		return fmt.Errorf("failed to exec in container: failed to start exec %q: OCI runtime exec failed: exec failed: unable to start container process: %w: unknown",
			e.container.ID, err)
	case code != 0:
		return utilexec.CodeExitError{Err: fmt.Errorf("error executing command %v, exit code %d", command, code), Code: code}
	}
	return nil
}

// streamsOf returns the streams of a client. A stream that the client has not opened is a nil interface.
func streamsOf(in io.Reader, out, errs io.Writer, tty bool) stdio.Streams {
	s := stdio.Streams{Stdin: in, Stdout: out, Stderr: errs}
	if tty {
		return stdio.Terminal(s)
	}
	return s
}

// drain discards the sizes of the client's terminal until the connection ends. No program here uses them.
func drain(resize <-chan remotecommand.TerminalSize) {
	for range resize {
	}
}

// attacher implements remotecommand.Attacher.
type attacher struct {
	container *Container
	spec      *corev1.Container
}

// AttachContainer implements remotecommand.Attacher.
func (a attacher) AttachContainer(ctx context.Context, _, _, _ string, in io.Reader, out, errs io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) error {
	if resize != nil {
		go drain(resize)
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	s := streamsOf(in, out, errs, tty)
	follow := a.container.Log.Attach()
	if input := a.container.Stdin; s.Stdin != nil && input != nil {
		go func() {
			_, _ = io.Copy(input, s.Stdin) // until the client ends its input or leaves, or the container exits
			if a.spec.StdinOnce && !tty {
				input.Close()
			} else {
				leave() // as with containerd, the input of the container stays open
			}
		}()
	}
	_ = follow(ctx, s.Stdout, s.Stderr) // it fails only if the client has left
	return nil
}
