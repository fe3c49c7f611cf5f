package random

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fakecluster/fakecluster/conformance/kubelet/cri"
	"github.com/fakecluster/fakecluster/conformance/kubelet/program"
)

// Pod returns the nth random scenario of a seed.
func Pod(seed uint64, n int) Scenario {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, uint64(n))), pod: fmt.Sprintf("p%d", n)}
	s := m.scenario()
	refused(seed, n, &s)
	return s
}

// maker makes one scenario.
type maker struct {
	*rand.Rand
	pod string
}

// one reports true in one of n cases.
func (m *maker) one(n int) bool { return m.IntN(n) == 0 }

// seconds returns a duration of low to high seconds, never a whole number of them: a kubelet polls each second.
func (m *maker) seconds(low, high int) time.Duration {
	return time.Duration(low+m.IntN(high-low+1))*time.Second + time.Duration(300+m.IntN(400))*time.Millisecond
}

func (m *maker) scenario() Scenario {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: m.pod}}
	s := Scenario{Pod: pod}
	spec := &pod.Spec
	spec.AutomountServiceAccountToken = new(bool)
	spec.TerminationGracePeriodSeconds = new([]int64{2, 3, 5, 10, 20, 30}[m.IntN(6)])
	spec.RestartPolicy = []corev1.RestartPolicy{corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}[m.IntN(3)]
	if m.one(8) {
		spec.ActiveDeadlineSeconds = new(int64(5 + m.IntN(60)))
	}
	for i := range []int{0, 0, 0, 1, 1, 2}[m.IntN(6)] {
		spec.InitContainers = append(spec.InitContainers, m.initContainer(fmt.Sprintf("i%d", i)))
	}
	if m.one(3) {
		sidecar := m.main("s0", *spec.TerminationGracePeriodSeconds)
		sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		i := m.IntN(len(spec.InitContainers) + 1)
		spec.InitContainers = append(spec.InitContainers[:i:i], append([]corev1.Container{sidecar}, spec.InitContainers[i:]...)...)
	}
	for i := range 1 + m.IntN(2) {
		spec.Containers = append(spec.Containers, m.main(fmt.Sprintf("c%d", i), *spec.TerminationGracePeriodSeconds))
	}
	switch {
	case m.one(12):
		s.Actions = append(s.Actions, m.missingConfig(spec)...)
	case m.one(8):
		s.Actions = append(s.Actions, m.changingConfig(spec)...)
	}
	if m.one(2) {
		s.Actions = append(s.Actions, m.deletion(spec))
	}
	return s
}

// initContainer returns a container that runs for some seconds, and may fail.
func (m *maker) initContainer(name string) corev1.Container {
	var p program.Program
	if m.one(3) {
		for range 1 + m.IntN(2) {
			p.Starts = append(p.Starts, program.Start{Runs: m.seconds(1, 4), Code: 1 + m.IntN(3), Message: m.message()})
		}
	}
	if len(p.Starts) == 0 || !m.one(4) {
		p.Starts = append(p.Starts, program.Start{Runs: m.seconds(1, 4), Message: m.message()})
	}
	m.ends(&p)
	return m.container(name, p)
}

// main returns a container that runs for long, or exits.
func (m *maker) main(name string, grace int64) corev1.Container {
	var p program.Program
	for range 1 + m.IntN(3) {
		var start program.Start
		if m.one(2) {
			start = program.Start{Runs: m.seconds(2, 20), Code: []int{0, 0, 1, 2, 255}[m.IntN(5)]}
		}
		start.Message = m.message()
		if m.one(4) {
			start.Log = "a line of " + name
		}
		p.Starts = append(p.Starts, start)
	}
	m.ends(&p)
	c := m.container(name, p)
	if m.one(3) {
		p.Port = 8080 + int(name[1]-'0') + 10*int(name[0]-'a')
	}
	m.hooks(&c, grace, p.Port)
	if m.one(2) {
		m.probes(&c, &p)
	}
	c.Args = p.Args()
	if m.one(5) {
		c.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}
	return c
}

func (m *maker) container(name string, p program.Program) corev1.Container {
	c := corev1.Container{Name: name, Image: program.Image + ":" + m.pod, Args: p.Args()}
	switch m.IntN(40) {
	case 0:
		c.Image = cri.Missing + ":" + m.pod
	case 1:
		c.Image = cri.Unstartable + ":" + m.pod
	}
	return c
}

func (m *maker) message() string {
	if m.one(4) {
		return fmt.Sprintf("message %d", m.IntN(100))
	}
	return ""
}

// ends sets how the starts of a program end after SIGTERM.
func (m *maker) ends(p *program.Program) {
	for i := range p.Starts {
		s := &p.Starts[i]
		switch m.IntN(4) {
		case 0:
			s.EndsAfter, s.EndCode = m.seconds(0, 6), m.IntN(2)
		case 1:
			s.EndsAfter = -1
		default:
			s.EndsAfter, s.EndCode = 50*time.Millisecond, []int{0, 0, 143}[m.IntN(3)]
		}
	}
}

// hooks adds hooks.
func (m *maker) hooks(c *corev1.Container, grace int64, port int) {
	hook := func() *corev1.LifecycleHandler {
		if m.one(3) {
			return &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 1 + m.Int64N(min(grace-1, 5))}}
		}
		if port != 0 && m.one(2) {
			if m.one(4) {
				port = 1 // nothing listens there
			}
			return &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/hook", Port: intstr.FromInt(port)}}
		}
		code := "0"
		if m.one(4) {
			code = "3"
		}
		return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"hook", m.seconds(0, 5).String(), code}}}
	}
	if m.one(6) {
		c.Lifecycle = &corev1.Lifecycle{PostStart: hook()}
	}
	if m.one(4) {
		if c.Lifecycle == nil {
			c.Lifecycle = &corev1.Lifecycle{}
		}
		c.Lifecycle.PreStop = hook()
	}
}

// missingConfig makes a container need a ConfigMap that appears later, or never.
func (m *maker) missingConfig(spec *corev1.PodSpec) []Action {
	name := fmt.Sprintf("config-%d", m.IntN(1_000_000_000))
	c := &spec.Containers[0]
	if m.one(2) {
		c.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}}
	} else {
		spec.Volumes = []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: name},
		}}}}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: "/config"}}
	}
	if m.one(4) {
		return nil
	}
	return []Action{{After: m.seconds(5, 40), ConfigMap: name, Value: "value"}}
}

// deletion deletes the pod after the start of one of its containers, or after its creation.
func (m *maker) deletion(spec *corev1.PodSpec) Action {
	a := Action{Delete: true, After: m.seconds(2, 60)}
	if containers := append(append([]corev1.Container{}, spec.InitContainers...), spec.Containers...); !m.one(4) {
		a.Container, a.Start, a.After = containers[m.IntN(len(containers))].Name, m.IntN(2), m.seconds(0, 15)
	}
	if m.one(3) {
		a.Grace = new(int64(m.IntN(8)))
	}
	return a
}
