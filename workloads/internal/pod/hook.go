package pod

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	utilexec "k8s.io/utils/exec"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/recorder"
	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
)

// hook is a postStart or preStop hook that runs a program in a container or sends a request, on a goroutine of its own.
// Hooks that sleep are handled by the timer of the pod.
type hook struct {
	cancel context.CancelFunc

	mu      sync.Mutex
	done    bool
	message string
	err     error
}

// result reports whether the hook has ended, and returns its error.
func (h *hook) result() (done bool, message string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.done, h.message, h.err
}

// hookDelay is the time that a container runtime takes to start a program. Meanwhile the function of a container can
// register its own programs.
const hookDelay = 10 * time.Millisecond

// startHook runs a hook by the kubelet's code, and calls ended when it is over. It returns nil if there is nothing to run: the
// container does not have a hook or code, or the hook sleeps.
func (p *Pod) startHook(ctx context.Context, c *container, handler *corev1.LifecycleHandler, ended func(error)) *hook {
	if handler == nil || handler.Sleep != nil || !p.node.config.Programs.HasCode(p.api, c.spec) {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	h := &hook{cancel: cancel}
	api, id := p.api, kubecontainer.ContainerID{Type: "containerd", ID: c.id}
	runner := lifecycle.NewHandlerRunner(p.hookClient(ctx), commands{c}, addresses(p.ips), hookEvents{ctx, p.node.config.Events})
	p.node.config.Go(func() {
		defer cancel()
		select {
		case <-time.After(hookDelay):
		case <-ctx.Done():
		}
		message, err := runner.Run(ctx, id, api, c.spec, handler)
		ended(err)
		h.mu.Lock()
		h.done, h.message, h.err = true, message, err
		h.mu.Unlock()
		p.node.config.Enqueue(p.uid)
	})
	return h
}

// sleepTime returns the duration of a hook that sleeps.
func sleepTime(handler *corev1.LifecycleHandler) time.Duration {
	if handler == nil || handler.Sleep == nil {
		return 0
	}
	return time.Duration(handler.Sleep.Seconds) * time.Second
}

// postStart returns the hook of a container; nil: it does not have one.
func postStart(spec *corev1.Container) *corev1.LifecycleHandler {
	if spec.Lifecycle == nil {
		return nil
	}
	return spec.Lifecycle.PostStart
}

func preStop(spec *corev1.Container) *corev1.LifecycleHandler {
	if spec.Lifecycle == nil {
		return nil
	}
	return spec.Lifecycle.PreStop
}

// commands runs programs of hooks. It implements kubecontainer.CommandRunner.
type commands struct{ container *container }

// RunInContainer implements kubecontainer.CommandRunner, with the errors of a container runtime.
func (r commands) RunInContainer(ctx context.Context, _ kubecontainer.ContainerID, command []string, _ time.Duration) ([]byte, error) {
	var out, errs bytes.Buffer
	code, err := r.container.served.Exec(ctx, command, stdio.Streams{Stdout: &out, Stderr: &errs})
	switch {
	case err != nil:
		err = cri.ExecError(r.container.id, err)
	case ctx.Err() != nil: // the program may still write
		return nil, ctx.Err()
	case code != 0:
		err = utilexec.CodeExitError{Err: fmt.Errorf("command '%s' exited with %d: %s", strings.Join(command, " "), code, errs.String()), Code: code}
	}
	return append(out.Bytes(), errs.Bytes()...), err
}

// hookEvents records the Events of the kubelet's code for hooks. It implements record.EventRecorder.
type hookEvents struct {
	ctx    context.Context
	events *recorder.Recorder
}

// Event implements record.EventRecorder.
func (e hookEvents) Event(object runtime.Object, eventType, reason, message string) {
	e.events.Pod(e.ctx, object.(*corev1.Pod), eventType, reason, "%s", message)
}

// Eventf implements record.EventRecorder.
func (e hookEvents) Eventf(object runtime.Object, eventType, reason, format string, args ...any) {
	e.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf implements record.EventRecorder. No hook has annotations.
func (e hookEvents) AnnotatedEventf(object runtime.Object, _ map[string]string, eventType, reason, format string, args ...any) {
	e.Eventf(object, eventType, reason, format, args...)
}

// addresses are the addresses of a pod, for the kubelet's code.
type addresses []string

// GetPod implements an interface of the package lifecycle.
func (addresses) GetPod(context.Context, types.UID) (*kubecontainer.Pod, error) {
	return &kubecontainer.Pod{}, nil
}

// GetPodStatus implements an interface of the package lifecycle.
func (a addresses) GetPodStatus(context.Context, *kubecontainer.Pod) (*kubecontainer.PodStatus, error) {
	return &kubecontainer.PodStatus{IPs: a}, nil
}

// hookClient returns a client that sends the requests of a hook until ctx is done.
func (p *Pod) hookClient(ctx context.Context) hookClient {
	c := hookClient{ctx: ctx}
	if host := p.host(); host != nil {
		c.client = host.HookClient()
	}
	return c
}

type hookClient struct {
	ctx    context.Context
	client *http.Client // nil: there is no network
}

// Do implements kubetypes.HTTPDoer.
func (c hookClient) Do(req *http.Request) (*http.Response, error) {
	if c.client == nil {
		return nil, errors.New("the pod does not have a network")
	}
	return c.client.Do(req.WithContext(c.ctx))
}
