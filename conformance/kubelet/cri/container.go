package cri

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	cri "k8s.io/cri-client/pkg"
	"k8s.io/kubelet/pkg/types"
	utilexec "k8s.io/utils/exec"

	"github.com/fakecluster/fakecluster/conformance/kubelet/program"
)

// container is a container of the runtime. The lock of the runtime guards its state and times.
type container struct {
	id      string
	sandbox *sandbox
	config  *runtimeapi.ContainerConfig
	program program.Start
	port    *port // nil: it does not have one

	state                      runtimeapi.ContainerState
	created, started, finished time.Time
	code                       int

	term   context.Context
	cancel context.CancelFunc // SIGTERM
	killed chan struct{}      // SIGKILL
	ended  chan struct{}
}

// kill sends SIGKILL. The lock is held.
func (c *container) kill() {
	select {
	case <-c.killed:
	default:
		close(c.killed)
	}
}

func (c *container) label(key string) string { return c.config.Labels[key] }

// CreateContainer implements ContainerManager.
func (r *Runtime) CreateContainer(_ context.Context, sandboxID string, config *runtimeapi.ContainerConfig, _ *runtimeapi.PodSandboxConfig) (string, error) {
	time.Sleep(StartTime)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandboxes[sandboxID]
	if s == nil {
		return "", notFound("sandbox", sandboxID)
	}
	c := &container{
		id: r.id(), sandbox: s, config: config, created: time.Now(), state: runtimeapi.ContainerState_CONTAINER_CREATED,
		killed: make(chan struct{}), ended: make(chan struct{}),
	}
	c.term, c.cancel = context.WithCancel(context.Background())
	r.containers[c.id] = c
	return c.id, nil
}

// StartContainer implements ContainerManager.
func (r *Runtime) StartContainer(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.containers[id]
	if c == nil {
		return notFound("container", id)
	}
	if strings.HasPrefix(c.config.Image.UserSpecifiedImage, Unstartable) {
		c.state, c.finished, c.code = runtimeapi.ContainerState_CONTAINER_EXITED, time.Now(), 128
		close(c.ended)
		if err := c.writeLog(); err != nil {
			return err
		}
		return StartError
	}
	p, err := program.Parse(c.config.Args)
	if err != nil {
		return err
	}
	namespace, pod, name := c.label(types.KubernetesPodNamespaceLabel), c.label(types.KubernetesPodNameLabel), c.label(types.KubernetesContainerNameLabel)
	n := r.counter.Next(c.label(types.KubernetesPodUIDLabel) + "/" + name)
	c.program = p.Start(n)
	c.state, c.started = runtimeapi.ContainerState_CONTAINER_RUNNING, time.Now()
	if err := c.writeLog(); err != nil {
		return err
	}
	if p.Port != 0 {
		c.port = r.open(c.sandbox.ip, p.Port, c.program)
	}
	r.Started(namespace, pod, name, n)
	go r.run(c)
	return nil
}

// run runs a container until it ends.
func (r *Runtime) run(c *container) {
	code := c.program.Run(c.term, c.killed)
	if c.port != nil {
		c.port.close()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := c.writeMessage(code); err != nil {
		panic(fmt.Errorf("the termination message of container %s: %w", c.config.Metadata.Name, err))
	}
	c.state, c.finished, c.code = runtimeapi.ContainerState_CONTAINER_EXITED, time.Now(), code
	close(c.ended)
}

// writeLog writes the log of the container, in the format of the Container Runtime Interface.
func (c *container) writeLog() error {
	path := filepath.Join(c.sandbox.config.LogDirectory, c.config.LogPath)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	line := ""
	if c.program.Log != "" {
		line = fmt.Sprintf("%s stdout F %s\n", time.Now().UTC().Format(time.RFC3339Nano), c.program.Log)
	}
	return os.WriteFile(path, []byte(line), 0o644)
}

// writeMessage writes the termination message to the file that the kubelet has mounted for it, unless the container was killed.
func (c *container) writeMessage(code int) error {
	message := c.program.End(c.read)
	if message == "" || code == program.Killed {
		return nil
	}
	for _, m := range c.config.Mounts {
		if m.ContainerPath == "/dev/termination-log" {
			return os.WriteFile(m.HostPath, []byte(message), 0o644)
		}
	}
	return nil
}

// read reads a file in a volume, or a variable of the environment.
func (c *container) read(name string) (string, bool) {
	if variable, ok := strings.CutPrefix(name, "$"); ok {
		for _, env := range c.config.Envs {
			if env.Key == variable {
				return string(env.Value), true
			}
		}
		return "", false
	}
	for _, m := range c.config.Mounts {
		if below, ok := strings.CutPrefix(name, m.ContainerPath+"/"); ok {
			data, err := os.ReadFile(filepath.Join(m.HostPath, below))
			return string(data), err == nil
		}
	}
	return "", false
}

// StopContainer implements ContainerManager.
func (r *Runtime) StopContainer(_ context.Context, id string, timeout int64) error {
	r.mu.Lock()
	c := r.containers[id]
	r.mu.Unlock()
	if c == nil || c.started.IsZero() {
		return nil
	}
	if timeout > 0 {
		c.cancel()
		timer := time.NewTimer(time.Duration(timeout) * time.Second)
		defer timer.Stop()
		select {
		case <-c.ended:
			return nil
		case <-timer.C:
		}
	}
	r.mu.Lock()
	c.kill()
	r.mu.Unlock()
	<-c.ended
	return nil
}

// RemoveContainer implements ContainerManager.
func (r *Runtime) RemoveContainer(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.containers, id)
	return nil
}

// ListContainers implements ContainerManager.
func (r *Runtime) ListContainers(_ context.Context, filter *runtimeapi.ContainerFilter) ([]*runtimeapi.Container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*runtimeapi.Container
	for _, id := range slices.Sorted(maps.Keys(r.containers)) {
		c := r.containers[id]
		if filter != nil && (filter.Id != "" && filter.Id != id || filter.PodSandboxId != "" && filter.PodSandboxId != c.sandbox.id ||
			filter.State != nil && filter.State.State != c.state || !selects(filter.LabelSelector, c.config.Labels)) {
			continue
		}
		list = append(list, &runtimeapi.Container{
			Id: id, PodSandboxId: c.sandbox.id, Metadata: c.config.Metadata, Image: c.config.Image, ImageRef: c.config.Image.Image, ImageId: c.config.Image.Image,
			State: c.state, CreatedAt: c.created.UnixNano(), Labels: c.config.Labels, Annotations: c.config.Annotations,
		})
	}
	return list, nil
}

// ContainerStatus implements ContainerManager.
func (r *Runtime) ContainerStatus(_ context.Context, id string, _ bool) (*runtimeapi.ContainerStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.containers[id]
	if c == nil {
		return nil, notFound("container", id)
	}
	s := &runtimeapi.ContainerStatus{
		Id: id, Metadata: c.config.Metadata, State: c.state, CreatedAt: c.created.UnixNano(),
		Image: &runtimeapi.ImageSpec{Image: c.config.Image.UserSpecifiedImage}, ImageRef: c.config.Image.Image, ImageId: c.config.Image.Image,
		Labels: c.config.Labels, Annotations: c.config.Annotations, Mounts: c.config.Mounts,
		LogPath: filepath.Join(c.sandbox.config.LogDirectory, c.config.LogPath),
	}
	if !c.started.IsZero() {
		s.StartedAt = c.started.UnixNano()
	}
	if c.state == runtimeapi.ContainerState_CONTAINER_EXITED {
		s.FinishedAt, s.ExitCode, s.Reason = c.finished.UnixNano(), int32(c.code), "Completed"
		switch {
		case c.code == 128:
			s.Reason, s.Message = "StartError", StartMessage
		case c.code != 0:
			s.Reason = "Error"
		}
	}
	return &runtimeapi.ContainerStatusResponse{Status: s}, nil
}

// ExecSync implements ContainerManager.
func (r *Runtime) ExecSync(ctx context.Context, id string, command []string, timeout time.Duration) (stdout, stderr []byte, err error) {
	r.mu.Lock()
	c := r.containers[id]
	r.mu.Unlock()
	if c == nil {
		return nil, nil, notFound("container", id)
	}
	select {
	case <-c.ended:
		return nil, nil, status.Error(codes.Unknown, "failed to exec in container: container is in CONTAINER_EXITED state")
	default:
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-c.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	code, output, err := c.program.Exec(ctx, command, time.Since(c.started), c.read)
	if err != nil {
		return nil, nil, status.Errorf(codes.Unknown, "failed to exec in container: failed to start exec %q: OCI runtime exec failed: exec failed: unable to start container process: %v: unknown", id, err)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) { // as the client of a container runtime reports it
		return nil, nil, fmt.Errorf("%w: %q timed out after %s", cri.ErrCommandTimedOut, strings.Join(command, " "), timeout)
	}
	if code != 0 {
		err = utilexec.CodeExitError{Err: fmt.Errorf("command '%s' exited with %d: %s", strings.Join(command, " "), code, output), Code: code}
	}
	return nil, []byte(output), err
}

// UpdateContainerResources implements ContainerManager.
func (r *Runtime) UpdateContainerResources(context.Context, string, *runtimeapi.ContainerResources) error {
	return nil
}

// ReopenContainerLog implements ContainerManager.
func (r *Runtime) ReopenContainerLog(context.Context, string) error { return nil }
