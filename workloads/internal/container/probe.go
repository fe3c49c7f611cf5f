package container

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	kubeprobe "k8s.io/kubernetes/pkg/probe"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
)

// probe is a running probe, or one whose result was not fetched yet.
type probe struct {
	done   bool
	result cri.ProbeResult
	output string
}

// Probe implements cri.Process. It starts the probe; when there is a result, the agent calls Probe again.
func (p *process) Probe(kind cri.ProbeKind, _ time.Time) (cri.ProbeResult, string) {
	spec := map[cri.ProbeKind]*corev1.Probe{
		cri.Readiness: p.wanted.Spec.ReadinessProbe, cri.Liveness: p.wanted.Spec.LivenessProbe, cri.Startup: p.wanted.Spec.StartupProbe,
	}[kind]
	if spec == nil {
		return cri.Success, ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	running := p.probes[kind]
	if running == nil {
		running = &probe{}
		p.probes[kind] = running
		p.runtime.finished.Go(func() {
			result, text := p.probe(spec)
			p.mu.Lock()
			running.done, running.result, running.output = true, result, text
			p.mu.Unlock()
			p.wanted.Changed()
		})
	}
	if !running.done {
		return cri.Pending, ""
	}
	delete(p.probes, kind)
	return running.result, running.output
}

// probe runs a probe once, also when the container ends or has ended: a kubelet probes until the status shows the end.
func (p *process) probe(spec *corev1.Probe) (cri.ProbeResult, string) {
	most := time.Duration(max(spec.TimeoutSeconds, 1)) * time.Second
	ctx, cancel := context.WithTimeout(p.alive, most)
	defer cancel()
	p.awaitPrograms(ctx) // also for a function that begins to listen
	if spec.Exec == nil {
		if p.wanted.Host == nil {
			return cri.Unrunnable, errNoNetwork.Error()
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), most) // the network refuses connections when the container has ended
		defer cancel()
		result, text, err := p.wanted.Host.Probe(ctx, spec, p.wanted.Spec)
		if err != nil {
			return cri.Unrunnable, err.Error()
		}
		switch result {
		case kubeprobe.Success:
			return cri.Success, ""
		case kubeprobe.Warning:
			return cri.Warning, text
		}
		return cri.Failure, text
	}
	if p.alive.Err() != nil {
		return cri.Unrunnable, cri.ErrExecExited.Error()
	}
	command := kubecontainer.ExpandContainerCommandOnlyStatic(spec.Exec.Command, p.wanted.Spec.Env)
	var out, errs output
	code, err := p.Exec(ctx, command, stdio.Streams{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs})
	switch {
	case p.alive.Err() == nil && ctx.Err() != nil:
		return cri.Failure, fmt.Sprintf("command timed out: %q timed out after %v", strings.Join(command, " "), most)
	case p.alive.Err() == nil && err != nil:
		return cri.Unrunnable, cri.ExecError(p.wanted.ID, err).Error()
	case p.alive.Err() != nil || code != 0: // the program ends with the container
		text := out.String() + errs.String()
		return cri.Failure, text[:min(len(text), probeOutput)]
	}
	return cri.Success, ""
}

// probeOutput is the size in bytes of the output that a kubelet keeps.
const probeOutput = 10 << 10

// output is the output of a program, which may still write after its timeout.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(data)
}

// String returns the output so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}
