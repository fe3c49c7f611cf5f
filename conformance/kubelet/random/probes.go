package random

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fakecluster/fakecluster/conformance/kubelet/program"
)

// probes adds probes, and when their answers change. An answer lasts so long that a probe meets it however its period lies, because the
// periods of the two agents differ by the part of a second that a kubelet is behind when a container restarts.
func (m *maker) probes(c *corev1.Container, p *program.Program) {
	if m.one(3) {
		c.StartupProbe = m.probe("startup", p)
		c.StartupProbe.FailureThreshold = int32(3 + m.IntN(4))
		for i := range p.Starts {
			m.starts(&p.Starts[i], c.StartupProbe)
		}
	}
	if m.one(3) {
		c.LivenessProbe = m.probe("liveness", p)
		if m.one(3) {
			c.LivenessProbe.TerminationGracePeriodSeconds = new(int64(1 + m.IntN(5)))
		}
		for i := range p.Starts {
			m.changes(&p.Starts[i], "liveness", c.LivenessProbe, 0)
		}
	}
	if m.one(2) {
		c.ReadinessProbe = m.probe("readiness", p)
		c.ReadinessProbe.SuccessThreshold = int32(1 + m.IntN(2))
		switch {
		case m.one(12):
			c.ReadinessProbe.Exec, c.ReadinessProbe.HTTPGet, c.ReadinessProbe.TCPSocket = &corev1.ExecAction{Command: []string{"slow", "1.5s"}}, nil, nil
			c.ReadinessProbe.PeriodSeconds++
		case m.one(12):
			c.ReadinessProbe.Exec, c.ReadinessProbe.HTTPGet, c.ReadinessProbe.TCPSocket = &corev1.ExecAction{Command: []string{"no-such-program"}}, nil, nil
		}
		for i := range p.Starts {
			m.changes(&p.Starts[i], "readiness", c.ReadinessProbe, 8)
		}
	}
}

// probe returns a probe with an answer of the program.
func (m *maker) probe(name string, p *program.Program) *corev1.Probe {
	probe := &corev1.Probe{
		PeriodSeconds: int32(1 + m.IntN(5)), FailureThreshold: int32(1 + m.IntN(3)), SuccessThreshold: 1,
		TimeoutSeconds: 1,
	}
	if m.one(2) {
		probe.InitialDelaySeconds = int32(3 + m.IntN(2)) // longer than a kubelet may need to see the container
	}
	switch {
	case p.Port == 0:
		probe.Exec = &corev1.ExecAction{Command: []string{"probe", name}}
	case m.one(4):
		probe.TCPSocket = &corev1.TCPSocketAction{Port: intstr.FromInt(p.Port)}
	default:
		probe.HTTPGet = &corev1.HTTPGetAction{Path: "/" + name, Port: intstr.FromInt(p.Port)}
	}
	return probe
}

// periods returns a number of periods as a duration, and some seconds.
func (m *maker) periods(probe *corev1.Probe, n, low, high int) time.Duration {
	return time.Duration(n)*time.Duration(probe.PeriodSeconds)*time.Second + m.seconds(low, high)
}

// change sets when the answer to a probe changes.
func change(s *program.Start, name string, moments ...time.Duration) {
	if s.Changes == nil {
		s.Changes = map[string][]time.Duration{}
	}
	s.Changes[name] = moments
}

// starts has a container pass its startup probe in time, or not at all.
func (m *maker) starts(s *program.Start, probe *corev1.Probe) {
	switch {
	case s.Runs == 0 && m.one(4):
		change(s, "startup", time.Hour)
	case probe.TCPSocket != nil:
		s.Listens = m.seconds(0, 1)
	default:
		change(s, "startup", m.seconds(0, int(probe.FailureThreshold-2)*int(probe.PeriodSeconds)))
	}
	m.outlives(s, probe, int(probe.FailureThreshold))
}

// changes has the answer to a probe change some times. It is positive from a time on that is not later than latest seconds.
func (m *maker) changes(s *program.Start, name string, probe *corev1.Probe, latest int) {
	moment := 10 * time.Millisecond
	if latest > 0 && m.one(2) {
		moment = m.seconds(0, latest)
	}
	moments := []time.Duration{moment}
	m.outlives(s, probe, 2)
	for n := m.IntN(3); n > 0 && s.Runs == 0; n-- {
		moment += m.periods(probe, int(probe.SuccessThreshold)+1, 3, 20)
		moments = append(moments, moment)
		if threshold := int(probe.FailureThreshold); threshold == 3 && m.one(2) {
			moment += time.Duration(probe.PeriodSeconds)*time.Second + 300*time.Millisecond // one or two failures
		} else {
			moment += m.periods(probe, threshold+1, 1, 8)
		}
		moments = append(moments, moment)
	}
	change(s, name, moments...)
}

// outlives has a start that ends by itself last for some periods of a probe at least.
func (m *maker) outlives(s *program.Start, probe *corev1.Probe, periods int) {
	if s.Runs > 0 {
		s.Runs = max(s.Runs, m.periods(probe, periods, int(probe.InitialDelaySeconds)+4, int(probe.InitialDelaySeconds)+8))
	}
}
