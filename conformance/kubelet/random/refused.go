package random

import (
	"fmt"
	"math/rand/v2"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fakecluster/fakecluster/conformance/kubelet/cri"
)

// RuntimeClasses are the RuntimeClasses that pods may name. No node has their handler.
func RuntimeClasses() []*nodev1.RuntimeClass {
	return []*nodev1.RuntimeClass{{ObjectMeta: metav1.ObjectMeta{Name: "absent"}, Handler: cri.AbsentHandler}}
}

// Claims are the claims that pods may name. No controller binds them.
func Claims() []*corev1.PersistentVolumeClaim {
	return []*corev1.PersistentVolumeClaim{{
		ObjectMeta: metav1.ObjectMeta{Name: "unbound"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new(""),
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}}
}

// refused makes one in six pods ask for something that a kubelet refuses: the pod, its sandbox, its volumes or a container. It draws from numbers of its own, so
// that all other pods are those of before.
func refused(seed uint64, n int, s *Scenario) {
	m := refusedMaker(seed, n)
	if m.one(6) {
		refusals[m.IntN(len(refusals))](m, s)
	}
}

// Refused reports whether the nth scenario of a seed asks for something that a kubelet refuses.
func Refused(seed uint64, n int) bool { return refusedMaker(seed, n).one(6) }

func refusedMaker(seed uint64, n int) *maker {
	return &maker{Rand: rand.New(rand.NewPCG(seed, 1<<32+uint64(n))), pod: fmt.Sprintf("p%d", n)}
}

// refusals are what a kubelet refuses.
var refusals = []func(*maker, *Scenario){
	// Images.
	func(m *maker, s *Scenario) {
		m.some(s).Image = []string{"${IMAGE}", "registry.test/app:", ":v1", "Registry.test/App:v1", "registry.test/app:v1:v2"}[m.IntN(5)]
	},
	func(m *maker, s *Scenario) {
		c := m.some(s)
		c.Image, c.ImagePullPolicy = cri.Missing+":"+m.pod, corev1.PullNever
	},
	func(m *maker, s *Scenario) {
		m.some(s).Image = cri.Missing + ":" + m.pod
		s.Pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "none"}, {Name: "no"}}[:1+m.IntN(2)]
	},
	// Users.
	func(m *maker, s *Scenario) {
		security := &corev1.PodSecurityContext{RunAsNonRoot: new(true)}
		if m.one(2) {
			security.RunAsUser = new(int64(0))
		}
		s.Pod.Spec.SecurityContext = security
		if m.one(2) {
			m.some(s).Image = cri.Root + ":" + m.pod
		}
		if m.one(3) {
			m.some(s).SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(1000))} // this one may
		}
	},
	func(m *maker, s *Scenario) {
		c := m.some(s)
		c.SecurityContext = &corev1.SecurityContext{RunAsNonRoot: new(true)}
		if m.one(2) {
			c.Image = cri.Root + ":" + m.pod
		} else {
			c.SecurityContext.RunAsUser = new(int64(m.IntN(2)))
		}
	},
	// Probes.
	func(m *maker, s *Scenario) {
		c := &s.Pod.Spec.Containers[0]
		probe := &corev1.Probe{PeriodSeconds: 3, FailureThreshold: 2, SuccessThreshold: 1, TimeoutSeconds: 1}
		if m.one(2) {
			probe.HTTPGet = &corev1.HTTPGetAction{Path: "/", Port: intstr.FromString("none")}
		} else {
			probe.TCPSocket = &corev1.TCPSocketAction{Port: intstr.FromString("none")}
		}
		switch m.IntN(3) {
		case 0:
			c.StartupProbe = probe
		case 1:
			c.LivenessProbe = probe
		default:
			c.ReadinessProbe = probe
		}
	},
	// Variables.
	func(m *maker, s *Scenario) {
		name := m.config(s)
		c := m.some(s)
		c.Env = append(c.Env, corev1.EnvVar{Name: "ABSENT", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: "absent"}}})
	},
	func(m *maker, s *Scenario) {
		c := m.some(s)
		c.Env = append(c.Env, corev1.EnvVar{Name: "ABSENT", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "none"}, Key: "absent", Optional: []*bool{nil, new(true)}[m.IntN(2)]}}})
	},
	func(m *maker, s *Scenario) {
		c := m.mount(s, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
		c.VolumeMounts[len(c.VolumeMounts)-1].SubPathExpr = "$(ABSENT)"
	},
	// Volumes.
	func(m *maker, s *Scenario) {
		kind := []corev1.HostPathType{corev1.HostPathSocket, corev1.HostPathFile, corev1.HostPathDirectory, corev1.HostPathCharDev, corev1.HostPathBlockDev}[m.IntN(5)]
		m.mount(s, corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/absent/" + m.pod, Type: &kind}})
	},
	func(m *maker, s *Scenario) {
		m.mount(s, corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/absent/" + m.pod, Type: new(corev1.HostPathFileOrCreate)}})
	},
	func(m *maker, s *Scenario) {
		m.mount(s, corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "csi.example.com"}})
	},
	func(m *maker, s *Scenario) {
		m.mount(s, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: []string{"none", "unbound"}[m.IntN(2)]}})
	},
	func(m *maker, s *Scenario) {
		name := m.config(s)
		m.mount(s, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: []corev1.KeyToPath{{Key: "absent", Path: "absent"}}}})
	},
	func(m *maker, s *Scenario) {
		m.mount(s, corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "none"}, Optional: []*bool{nil, new(true)}[m.IntN(2)]}}}}})
	},
	func(m *maker, s *Scenario) {
		m.mount(s, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: []corev1.StorageMedium{corev1.StorageMediumHugePages, "HugePages-2Mi"}[m.IntN(2)]}})
	},
	func(_ *maker, s *Scenario) { // no container mounts it
		s.Pod.Spec.Volumes = append(s.Pod.Spec.Volumes, corev1.Volume{Name: "refused", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "none"}}}})
	},
	// The sandbox.
	func(_ *maker, s *Scenario) { s.Pod.Spec.RuntimeClassName = new("absent") },
	func(m *maker, s *Scenario) {
		s.Pod.Spec.SetHostnameAsFQDN = new(true)
		s.Pod.Spec.Hostname, s.Pod.Spec.Subdomain = m.pod+strings.Repeat("x", 20), strings.Repeat("y", 10+m.IntN(30))
	},
	func(m *maker, s *Scenario) {
		config := &corev1.PodDNSConfig{Nameservers: []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}[m.IntN(3):]}
		for i := range m.IntN(2) * 31 {
			config.Searches = append(config.Searches, fmt.Sprintf("d%d.example.com", i))
		}
		s.Pod.Spec.DNSConfig = config
	},
	// The admission of the pod.
	func(m *maker, s *Scenario) {
		name := []string{"kernel.msgmax", "net.core.somaxconn", "net.ipv4.tcp_syncookies", "kernel.shm_rmid_forced"}[m.IntN(4)]
		s.Pod.Spec.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: name, Value: "1"}}}
	},
	func(m *maker, s *Scenario) {
		m.some(s).Resources.Requests = corev1.ResourceList{[]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, "example.com/gpu"}[m.IntN(3)]: resource.MustParse("900Gi")}
		for i := range s.Pod.Spec.Containers {
			equalLimits(&s.Pod.Spec.Containers[i])
		}
		for i := range s.Pod.Spec.InitContainers {
			equalLimits(&s.Pod.Spec.InitContainers[i])
		}
	},
	func(_ *maker, s *Scenario) { s.Pod.Spec.NodeSelector = map[string]string{"absent": "yes"} },
	func(_ *maker, s *Scenario) {
		s.Pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"linux"}}}}}}}}
	},
	func(_ *maker, s *Scenario) { s.Pod.Labels = map[string]string{corev1.LabelOSStable: "windows"} },
}

// equalLimits gives a container the limit that an extended resource needs.
func equalLimits(c *corev1.Container) {
	if q, ok := c.Resources.Requests["example.com/gpu"]; ok {
		c.Resources.Limits = corev1.ResourceList{"example.com/gpu": q}
	}
}

// some returns a container of the pod.
func (m *maker) some(s *Scenario) *corev1.Container {
	spec := &s.Pod.Spec
	n := m.IntN(len(spec.InitContainers) + len(spec.Containers))
	if n < len(spec.InitContainers) {
		return &spec.InitContainers[n]
	}
	return &spec.Containers[n-len(spec.InitContainers)]
}

// mount mounts a volume in a container.
func (m *maker) mount(s *Scenario, source corev1.VolumeSource) *corev1.Container {
	s.Pod.Spec.Volumes = append(s.Pod.Spec.Volumes, corev1.Volume{Name: "refused", VolumeSource: source})
	c := m.some(s)
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "refused", MountPath: "/refused"})
	return c
}

// config creates a ConfigMap before the pod, and returns its name.
func (m *maker) config(s *Scenario) string {
	name := "present-" + m.pod
	s.Actions = append(s.Actions, Action{ConfigMap: name, Value: "value"})
	return name
}
