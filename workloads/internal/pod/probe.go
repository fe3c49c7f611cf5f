package pod

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/kubelet/events"
	kubeletstatus "k8s.io/kubernetes/pkg/kubelet/status"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
)

// verdict is the last result of a probe that came as often in a row as its threshold requires, for one start of a
// container. The kubelet acts on it.
type verdict int

const (
	unprobed verdict = iota
	probePassed
	probeFailed
)

// prober runs one probe of a container, in all its starts, as a worker of the kubelet's prober does: its period begins
// with the first sync of the pod. The period and the number of equal results in a row continue when the container
// restarts. It probes the container that the status shows.
type prober struct {
	name string // of the container
	kind cri.ProbeKind
	spec *corev1.Probe

	tick      time.Time  // the next run
	asked     bool       // run now, and count the period from now on
	idle      bool       // no timer is set for the next run
	skipping  bool       // runs are skipped because they pass
	began     time.Time  // when the running probe has begun
	container *container // the start that it has probed last
	flight    *container // the start whose probe runs
	last      bool       // the last result
	run       int        // how often in a row the last result came
	held      bool       // no further probe of this start of the container
}

// addProbers begins the probes of the pod, at its first sync.
func (p *Pod) addProbers(now time.Time) {
	if p.probers != nil {
		return
	}
	p.probers = []*prober{}
	podutil.VisitContainers(&p.api.Spec, podutil.InitContainers|podutil.Containers, func(spec *corev1.Container, _ podutil.ContainerType) bool {
		if cri.KindOf(p.api, spec.Name) != cri.Init {
			for kind := range cri.Kinds {
				if probe := cri.ProbeOf(spec, kind); probe != nil {
					p.probers = append(p.probers, &prober{name: spec.Name, kind: kind, spec: probe, tick: now})
				}
			}
		}
		return true
	})
}

// started reports whether the container has passed its startup probe, or runs without one.
func (c *container) started() bool {
	if c.kind == cri.Init || c.kind == cri.Ephemeral {
		return c.running()
	}
	return c.running() && c.passed()
}

// passed reports whether the container has passed its startup probe, if it has one.
func (c *container) passed() bool {
	return c.spec.StartupProbe == nil || c.verdicts[cri.Startup] == probePassed || c.presumed
}

// ready reports whether the container is ready. Processes without a readiness probe report their readiness as well.
func (c *container) ready(now time.Time) bool {
	if !c.started() {
		return false
	}
	if c.spec.ReadinessProbe != nil {
		return c.verdicts[cri.Readiness] == probePassed
	}
	result, _ := c.process.Probe(cri.Readiness, now)
	return result == cri.Success
}

// unhealthy reports whether the container must be killed because of a probe.
func (c *container) unhealthy() bool {
	return c.verdicts[cri.Liveness] == probeFailed || c.verdicts[cri.Startup] == probeFailed
}

// ask makes the readiness probes of containers that have started and are not ready run now, as a kubelet does with each
// sync of the pod. It reports whether there are any.
func (p *Pod) ask() (asked bool) {
	for _, r := range p.probers {
		if c := p.latest(r.name); r.kind == cri.Readiness && c != nil && c.started() && c.verdicts[cri.Readiness] != probePassed {
			r.asked, asked = true, true
		}
	}
	return asked
}

// probe runs the probes that are due. It reports whether the status has changed.
func (p *Pod) probe(ctx context.Context, now time.Time) (changed bool) {
	for _, r := range p.probers {
		for r.flight != nil || r.begin(p, now) {
			if r.flight != p.latest(r.name) {
				r.flight = nil // it has restarted
				continue
			}
			result, output := r.flight.process.Probe(r.kind, now)
			if result == cri.Pending {
				break
			}
			changed = r.take(ctx, p, result, output, now) || changed
		}
	}
	return changed
}

// begin begins a probe if one is due.
func (r *prober) begin(p *Pod, now time.Time) bool {
	if r.idle {
		r.tick, r.idle = r.from(now), false
		r.countSkipped(p, r.tick)
	}
	switch {
	case r.asked:
		r.asked, r.tick = false, now.Add(r.period())
	case now.Before(r.tick):
		return false
	default:
		r.tick = r.from(now.Add(1))
	}
	c := p.latest(r.name)
	if c == nil || !p.probes(c, now) {
		return false
	}
	if r.container != c {
		r.container, r.held = c, false
		if r.kind == cri.Readiness && c.verdicts[cri.Readiness] == unprobed {
			c.verdicts[cri.Readiness], p.starts.dirty = probeFailed, true // the first result of each start, for which a kubelet syncs the pod
		}
		if r.kind == cri.Startup && c.presumed {
			c.presumed, p.starts.dirty = false, true
			return false
		}
	}
	if !r.active(p, c) || now.Before(r.delayed(c)) {
		return false
	}
	r.flight, r.began = c, now
	return true
}

// shows reports whether the status shows that the container runs.
func (p *Pod) shows(c *container) bool {
	for _, statuses := range [][]corev1.ContainerStatus{p.report.status.ContainerStatuses, p.report.status.InitContainerStatuses} {
		if s, ok := podutil.GetContainerStatus(statuses, c.spec.Name); ok {
			return s.State.Running != nil && trimID(s.ContainerID) == c.id
		}
	}
	return false
}

// probes reports whether the container is probed: while the status shows it as running. Its end is shown at once, unless
// the kubelet is busy with other containers of the pod. A pod with a terminal phase, such as one past its deadline, is
// not probed while it ends.
func (p *Pod) probes(c *container, now time.Time) bool {
	if p.termination.ending != nil && podutil.IsPodPhaseTerminal(p.termination.ending.phase) {
		return false
	}
	return p.shows(c) && (c.running() || p.starts.pass != nil || p.termination.ending != nil && !p.stopped(now))
}

// active reports whether the probe is active: a startup probe until it has passed, the others after that. While the pod
// ends, only the readiness of its main containers is probed.
func (r *prober) active(p *Pod, c *container) bool {
	held := r.held && r.container == c || p.termination.ending != nil && c.kind == cri.Main && r.kind != cri.Readiness
	return !held && (r.kind == cri.Startup) != c.passed()
}

// delayed returns the end of the initial delay of a start of the container. It counts from the time in the status, which
// has whole seconds.
func (r *prober) delayed(c *container) time.Time {
	return c.startedAt.Truncate(time.Second).Add(time.Duration(r.spec.InitialDelaySeconds) * time.Second)
}

func (r *prober) period() time.Duration {
	return time.Duration(max(r.spec.PeriodSeconds, 1)) * time.Second
}

// from returns the first run at or after a time.
func (r *prober) from(now time.Time) time.Time {
	if behind := now.Sub(r.tick); behind > 0 {
		return r.tick.Add((behind + r.period() - 1) / r.period() * r.period())
	}
	return r.tick
}

// take records a result. It reports whether that changes the status or the actions of the kubelet.
func (r *prober) take(ctx context.Context, p *Pod, result cri.ProbeResult, output string, now time.Time) (changed bool) {
	c := r.flight
	r.flight = nil
	if !p.probes(c, now) {
		return false
	}
	warn := func(format string, args ...any) {
		p.node.config.Events.Container(ctx, p.api, c.spec, corev1.EventTypeWarning, events.ContainerUnhealthy, format, args...)
	}
	if result == cri.Unrunnable {
		warn("%s probe errored and resulted in unknown state: %s", r.kind, output)
		return false
	}
	if result == cri.Warning {
		p.node.config.Events.Container(ctx, p.api, c.spec, corev1.EventTypeWarning, events.ContainerProbeWarning, "%s probe warning: %s", r.kind, output)
	}
	p.countProbe(r, func(d *probed) {
		if result == cri.Success || result == cri.Warning {
			d.runs.Passed.Observe(now.Sub(r.began).Seconds(), 1)
		} else {
			d.runs.Failed++
		}
	})
	ok, passed, threshold := result == cri.Success || result == cri.Warning, probePassed, r.spec.SuccessThreshold
	if !ok {
		passed, threshold = probeFailed, r.spec.FailureThreshold
		warn("%s probe failed: %s", r.kind, output)
	}
	if r.last != ok {
		r.last, r.run = ok, 0
	}
	r.run++
	if r.run < int(threshold) {
		return false
	}
	if r.kind == cri.Startup || r.kind == cri.Liveness && !ok {
		r.held, r.run = true, 0
	}
	changed = c.verdicts[r.kind] != passed && !(r.kind == cri.Liveness && ok)
	c.verdicts[r.kind] = passed
	return changed
}

// next returns the time of the next run. A probe that passes until the process changes by itself is not run in between.
func (r *prober) next(p *Pod, now time.Time) time.Time {
	c := p.latest(r.name)
	if c == nil || r.flight != nil || !r.active(p, c) && !(r.kind == cri.Startup && c.presumed) || !p.probes(c, now) {
		r.idle = r.flight == nil
		return time.Time{}
	}
	if next := r.delayed(c); r.container == c && next.After(now) {
		r.tick = r.from(next)
	}
	if !c.running() || !c.process.Steady() || r.container != c {
		return r.tick
	}
	if result, _ := c.process.Probe(r.kind, now); result != cri.Success || c.verdicts[r.kind] != probePassed || !r.last {
		return r.tick
	}
	r.idle = true
	r.beginSkipping(p)
	change := c.process.Next(now)
	if change.IsZero() {
		return time.Time{}
	}
	return r.from(change)
}

// showProbes writes the changes by probes during a sync of the pod at once, as a kubelet does.
func (p *Pod) showProbes(ctx context.Context, now time.Time) {
	s := *p.report.status.DeepCopy()
	for _, statuses := range [][]corev1.ContainerStatus{s.ContainerStatuses, s.InitContainerStatuses} {
		for i := range statuses {
			c := p.latest(statuses[i].Name)
			if c == nil || c.kind == cri.Init || !p.shows(c) {
				continue
			}
			if c.running() { // the end of a container is shown after the sync
				*statuses[i].Started = c.started()
			}
			if c.spec.ReadinessProbe != nil {
				statuses[i].Ready = c.passed() && c.verdicts[cri.Readiness] == probePassed
			}
		}
	}
	phase := s.Phase
	if p.termination.ending != nil {
		phase = p.termination.ending.phase
	}
	statuses := append(append([]corev1.ContainerStatus{}, s.InitContainerStatuses...), s.ContainerStatuses...)
	for _, condition := range []corev1.PodCondition{
		kubeletstatus.GeneratePodReadyCondition(p.api, &p.report.status, s.Conditions, statuses, phase), kubeletstatus.GenerateContainersReadyCondition(p.api, &p.report.status, statuses, phase),
	} {
		if i, _ := podutil.GetPodCondition(&s, condition.Type); i >= 0 {
			s.Conditions[i] = condition
		}
	}
	p.publish(ctx, s, now)
}
