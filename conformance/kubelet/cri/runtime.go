// Package cri is a container runtime in memory, whose containers run package program. It implements the internal types of the
// kubelet's Container Runtime Interface, so that a kubelet uses it without a socket, also in a bubble.
package cri

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/fakecluster/fakecluster/conformance/kubelet/program"
)

// How long the steps of a start take.
const (
	sandboxTime = 100 * time.Millisecond
	// PullTime is how long the pull of an image takes, and StartTime how long the start of a container takes.
	PullTime  = 200 * time.Millisecond
	StartTime = 100 * time.Millisecond
)

// Runtime is a container runtime. Methods of the interfaces that a kubelet does not call for these pods panic.
type Runtime struct {
	internalapi.RuntimeService
	// Started is called when a container has started, with the number of its starts before.
	Started func(namespace, pod, container string, n int)

	counter program.Counter
	outside Outside

	mu         sync.Mutex
	next       int // of an ID or address
	sandboxes  map[string]*sandbox
	containers map[string]*container
	images     map[string]bool
}

type sandbox struct {
	id      string
	config  *runtimeapi.PodSandboxConfig
	state   runtimeapi.PodSandboxState
	created time.Time
	ip      string
}

// New returns a runtime without pods and images.
func New(outside Outside) *Runtime {
	return &Runtime{
		outside:   outside,
		Started:   func(string, string, string, int) {},
		sandboxes: map[string]*sandbox{}, containers: map[string]*container{}, images: map[string]bool{},
	}
}

// id returns an identifier that no other object has. The lock is held.
func (r *Runtime) id() string {
	r.next++
	return fmt.Sprintf("%064x", r.next)
}

func notFound(kind, id string) error {
	return status.Errorf(codes.NotFound, "an error occurred when try to find %s %q: not found", kind, id)
}

// Version implements RuntimeVersioner.
func (r *Runtime) Version(context.Context, string) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{Version: "0.1.0", RuntimeName: "containerd", RuntimeVersion: "2.1.4", RuntimeApiVersion: "v1"}, nil
}

// Status implements RuntimeService.
func (r *Runtime) Status(context.Context, bool) (*runtimeapi.StatusResponse, error) {
	return &runtimeapi.StatusResponse{Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.RuntimeReady, Status: true}, {Type: runtimeapi.NetworkReady, Status: true},
	}}}, nil
}

// RuntimeConfig implements RuntimeService.
func (r *Runtime) RuntimeConfig(context.Context) (*runtimeapi.RuntimeConfigResponse, error) {
	return &runtimeapi.RuntimeConfigResponse{}, nil
}

// UpdateRuntimeConfig implements RuntimeService.
func (r *Runtime) UpdateRuntimeConfig(context.Context, *runtimeapi.RuntimeConfig) error { return nil }

// RunPodSandbox implements PodSandboxManager.
func (r *Runtime) RunPodSandbox(_ context.Context, config *runtimeapi.PodSandboxConfig, handler string) (string, error) {
	if handler == AbsentHandler { // containerd looks for it first
		r.mu.Lock()
		defer r.mu.Unlock()
		return "", status.Errorf(codes.Unknown, "unable to get OCI runtime for sandbox %q: no runtime for %q is configured", r.id(), handler)
	}
	time.Sleep(sandboxTime)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &sandbox{id: r.id(), config: config, created: time.Now()}
	s.ip = r.address()
	r.sandboxes[s.id] = s
	return s.id, nil
}

// StopPodSandbox implements PodSandboxManager.
func (r *Runtime) StopPodSandbox(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sandboxes[id]; s != nil {
		s.state = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	}
	for _, c := range r.containers {
		if c.sandbox.id == id {
			c.kill()
		}
	}
	return nil
}

// RemovePodSandbox implements PodSandboxManager.
func (r *Runtime) RemovePodSandbox(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sandboxes, id)
	maps.DeleteFunc(r.containers, func(_ string, c *container) bool { return c.sandbox.id == id })
	return nil
}

// PodSandboxStatus implements PodSandboxManager.
func (r *Runtime) PodSandboxStatus(_ context.Context, id string, _ bool) (*runtimeapi.PodSandboxStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandboxes[id]
	if s == nil {
		return nil, notFound("sandbox", id)
	}
	return &runtimeapi.PodSandboxStatusResponse{Status: &runtimeapi.PodSandboxStatus{
		Id: s.id, Metadata: s.config.Metadata, State: s.state, CreatedAt: s.created.UnixNano(),
		Network: &runtimeapi.PodSandboxNetworkStatus{Ip: s.ip},
		Linux: &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{
			Options: s.config.GetLinux().GetSecurityContext().GetNamespaceOptions(),
		}},
		Labels: s.config.Labels, Annotations: s.config.Annotations,
	}}, nil
}

// ListPodSandbox implements PodSandboxManager.
func (r *Runtime) ListPodSandbox(_ context.Context, filter *runtimeapi.PodSandboxFilter) ([]*runtimeapi.PodSandbox, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*runtimeapi.PodSandbox
	for _, id := range slices.Sorted(maps.Keys(r.sandboxes)) {
		s := r.sandboxes[id]
		if filter != nil && (filter.Id != "" && filter.Id != id || filter.State != nil && filter.State.State != s.state || !selects(filter.LabelSelector, s.config.Labels)) {
			continue
		}
		list = append(list, &runtimeapi.PodSandbox{
			Id: id, Metadata: s.config.Metadata, State: s.state, CreatedAt: s.created.UnixNano(), Labels: s.config.Labels, Annotations: s.config.Annotations,
		})
	}
	return list, nil
}

// selects reports whether labels have all pairs of a selector.
func selects(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}
