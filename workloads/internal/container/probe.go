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
		node.Readiness: p.of.Spec.ReadinessProbe, node.Liveness: p.of.Spec.LivenessProbe, node.Startup: p.of.Spec.StartupProbe,
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
			result, output := p.probe(spec)
			p.mu.Lock()
			running.done, running.result, running.output = true, result, output
			p.mu.Unlock()
			p.of.Changed()
		})
	}
	if !running.done {
		return node.Pending, ""
	}
	delete(p.probes, kind)
	return running.result, running.output
}

// probe runs a probe once, also while the container ends: a kubelet probes its readiness until then.
func (p *process) probe(spec *corev1.Probe) (result node.ProbeResult, output string) {
	ctx, cancel := context.WithTimeout(p.alive, time.Duration(max(spec.TimeoutSeconds, 1))*time.Second)
	defer cancel()
	p.awaitPrograms(ctx) // also for a function that begins to listen
	if spec.Exec == nil {
		if p.of.Host == nil {
			return node.Unrunnable, errNoNetwork.Error()
		}
		result, output, err := p.of.Host.Probe(ctx, spec, p.of.Spec)
		if err != nil {
			return node.Unrunnable, err.Error()
		}
		if result == kubeprobe.Success || result == kubeprobe.Warning {
			return node.Success, ""
		}
		return node.Failure, output
	}
	var out bytes.Buffer
	code, err := p.container.Exec(ctx, spec.Exec.Command, strings.NewReader(""), &out, &out)
	switch {
	case ctx.Err() != nil:
		return node.Failure, fmt.Sprintf("command timed out: %q timed out after %v", strings.Join(spec.Exec.Command, " "), time.Duration(max(spec.TimeoutSeconds, 1))*time.Second)
	case err != nil:
		return node.Unrunnable, node.ExecError(p.of.ID, err).Error()
	case code != 0:
		return node.Failure, out.String()
	}
	return node.Success, ""
}
