package node

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/events"
)

// prober runs one probe of one start of a container, with the thresholds and periods of the kubelet's prober.
type prober struct {
	kind ProbeKind
	spec *corev1.Probe

	result bool      // what the kubelet acts on: past the threshold
	last   bool      // the last result
	run    int       // how often in a row the last result came
	due    time.Time // the next probe
	held   bool      // it has done its work for this start of the container
}

func newProbers(spec *corev1.Container, now time.Time) []*prober {
	var probers []*prober
	for _, p := range []struct {
		kind ProbeKind
		spec *corev1.Probe
	}{{Startup, spec.StartupProbe}, {Liveness, spec.LivenessProbe}, {Readiness, spec.ReadinessProbe}} {
		if p.spec != nil {
			probers = append(probers, &prober{
				kind: p.kind, spec: p.spec,
				result: p.kind == Liveness,
				due:    now.Add(time.Duration(p.spec.InitialDelaySeconds) * time.Second),
			})
		}
	}
	return probers
}

func (c *container) prober(kind ProbeKind) *prober {
	for _, p := range c.probes {
		if p.kind == kind {
			return p
		}
	}
	return nil
}

// started reports whether the container has passed its startup probe, or runs without one.
func (c *container) started() bool {
	if c.kind == Init || c.kind == Ephemeral {
		return c.running()
	}
	startup := c.prober(Startup)
	return c.running() && (startup == nil || startup.result)
}

// ready reports whether the container is ready. Processes without a readiness probe report their readiness as well.
func (c *container) ready(now time.Time) bool {
	if !c.started() {
		return false
	}
	if readiness := c.prober(Readiness); readiness != nil {
		return readiness.result
	}
	result, _ := c.process.Probe(Readiness, now)
	return result == Success
}

// probe runs the probes that are due. It reports whether a result has changed.
func (c *container) probe(ctx context.Context, p *pod, now time.Time) (changed bool) {
	if !c.running() || c.stop != nil {
		return false
	}
	for _, prober := range c.probes {
		for prober.active(c) && !prober.due.After(now) {
			result, output := c.process.Probe(prober.kind, now)
			if result == Pending {
				break
			}
			changed = prober.take(ctx, p, c, result == Success, output, now) || changed
		}
	}
	return changed
}

// active reports whether the probe runs now: a startup probe until it has passed, the others after that.
func (p *prober) active(c *container) bool {
	return !p.held && (p.kind == Startup) != c.started()
}

// take takes over a result. It reports whether that changes anything.
func (p *prober) take(ctx context.Context, pod *pod, c *container, ok bool, output string, now time.Time) (changed bool) {
	p.due = now.Add(time.Duration(max(p.spec.PeriodSeconds, 1)) * time.Second)
	if !ok {
		pod.node.events.container(ctx, pod.api, c.spec, corev1.EventTypeWarning, events.ContainerUnhealthy, "%s probe failed: %s", p.kind, output)
	}
	if p.run == 0 || p.last != ok {
		p.last, p.run = ok, 0
	}
	p.run++
	threshold := p.spec.FailureThreshold
	if ok {
		threshold = p.spec.SuccessThreshold
	}
	if p.run < int(threshold) {
		return false
	}
	changed = p.result != ok
	p.result = ok
	if p.kind == Startup && (ok || p.run >= int(threshold)) || p.kind == Liveness && !ok {
		p.held = true
		return true
	}
	return changed
}

// failed reports whether the container has to be killed because of the probe.
func (p *prober) failed() bool {
	return p != nil && p.held && !p.result
}

// next returns when the probe has to run. A probe that passes and goes on passing until the process changes by itself
// is not run in between.
func (p *prober) next(c *container, now time.Time) time.Time {
	if !p.active(c) {
		return time.Time{}
	}
	if !c.process.Steady() {
		return p.due
	}
	if result, _ := c.process.Probe(p.kind, now); result != Success || !p.result || !p.last {
		return p.due
	}
	change := c.process.Next(now)
	if change.IsZero() {
		return time.Time{}
	}
	// The first tick at or after the change.
	period := time.Duration(max(p.spec.PeriodSeconds, 1)) * time.Second
	if behind := change.Sub(p.due); behind > 0 {
		p.due = p.due.Add((behind + period - 1) / period * period)
	}
	return p.due
}
