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
	ok     bool
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
			ok, output := p.probe(spec)
			p.mu.Lock()
			running.done, running.ok, running.output = true, ok, output
			p.mu.Unlock()
			p.of.Changed()
		})
	}
	if !running.done {
		return node.Pending, ""
	}
	delete(p.probes, kind)
	if running.ok {
		return node.Success, ""
	}
	return node.Failure, running.output
}

// probe runs a probe once.
func (p *process) probe(spec *corev1.Probe) (ok bool, output string) {
	ctx, cancel := context.WithTimeout(p.ctx, time.Duration(max(spec.TimeoutSeconds, 1))*time.Second)
	defer cancel()
	if spec.Exec == nil {
		if p.of.Host == nil {
			return false, errNoNetwork.Error()
		}
		result, output, err := p.of.Host.Probe(ctx, spec, p.of.Spec)
		if err != nil {
			return false, err.Error()
		}
		return result == kubeprobe.Success || result == kubeprobe.Warning, output
	}
	p.awaitPrograms(ctx)
	var out bytes.Buffer
	code, err := p.container.Exec(ctx, spec.Exec.Command, strings.NewReader(""), &out, &out)
	switch {
	case ctx.Err() != nil:
		return false, fmt.Sprintf("command timed out: %q timed out after %v", strings.Join(spec.Exec.Command, " "), time.Duration(max(spec.TimeoutSeconds, 1))*time.Second)
	case err != nil:
		return false, err.Error()
	}
	return code == 0, out.String()
}
