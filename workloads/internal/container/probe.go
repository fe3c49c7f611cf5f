package container

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubeprobe "k8s.io/kubernetes/pkg/probe"

	"github.com/fakecluster/fakecluster/workloads/internal/node"
)

// probe is a probe that runs, or whose result nobody has taken over yet.
type probe struct {
	done   bool
	result node.ProbeResult
	output string
}

// Probe implements node.Process. It starts the probe; when the result is there, the agent asks again.
func (p *process) Probe(kind node.ProbeKind, _ time.Time) (node.ProbeResult, string) {
	spec := map[node.ProbeKind]*corev1.Probe{
		node.Readiness: p.wanted.Spec.ReadinessProbe, node.Liveness: p.wanted.Spec.LivenessProbe, node.Startup: p.wanted.Spec.StartupProbe,
	}[kind]
	if spec == nil {
		return node.Success, ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	running := p.probes[kind]
	if running == nil {
		running = &probe{}
		p.probes[kind] = running
		p.runtime.finished.Go(func() {
			result, output := node.Failure, errGoexit.Error() // of a program that ends its goroutine
			defer func() {
				p.mu.Lock()
				running.done, running.result, running.output = true, result, output
				p.mu.Unlock()
				p.wanted.Changed()
			}()
			result, output = p.probe(spec)
		})
	}
	if !running.done {
		return node.Pending, ""
	}
	delete(p.probes, kind)
	return running.result, running.output
}

// probe runs a probe once, also when the container ends or has ended: a kubelet probes until it shows that.
func (p *process) probe(spec *corev1.Probe) (result node.ProbeResult, output string) {
	most := time.Duration(max(spec.TimeoutSeconds, 1)) * time.Second
	ctx, cancel := context.WithTimeout(p.alive, most)
	defer cancel()
	p.awaitPrograms(ctx) // also for a function that begins to listen
	if spec.Exec == nil {
		if p.wanted.Host == nil {
			return node.Unrunnable, errNoNetwork.Error()
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), most) // the network answers when the container has ended
		defer cancel()
		result, output, err := p.wanted.Host.Probe(ctx, spec, p.wanted.Spec)
		if err != nil {
			return node.Unrunnable, err.Error()
		}
		if result == kubeprobe.Success || result == kubeprobe.Warning {
			return node.Success, ""
		}
		return node.Failure, output
	}
	if p.alive.Err() != nil {
		return node.Unrunnable, node.ErrExecExited.Error()
	}
	var out bytes.Buffer
	code, err := p.container.Exec(ctx, spec.Exec.Command, strings.NewReader(""), &out, &out)
	switch {
	case p.alive.Err() != nil:
		return node.Failure, out.String() // the program ends with the container
	case ctx.Err() != nil:
		return node.Failure, fmt.Sprintf("command timed out: %q timed out after %v", strings.Join(spec.Exec.Command, " "), most)
	case err != nil:
		return node.Unrunnable, node.ExecError(p.wanted.ID, err).Error()
	case code != 0:
		return node.Failure, out.String()
	}
	return node.Success, ""
}
