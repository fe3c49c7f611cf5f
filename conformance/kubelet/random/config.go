package random

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/conformance/kubelet/program"
)

const configFile = "/config/key"

// changingConfig makes a container show a ConfigMap that changes: with what it reads at its end, or by its readiness.
func (m *maker) changingConfig(spec *corev1.PodSpec) []Action {
	name := fmt.Sprintf("config-%d", m.IntN(1_000_000_000))
	reference := corev1.LocalObjectReference{Name: name}
	spec.InitContainers, spec.Containers = nil, spec.Containers[:1]
	c := &spec.Containers[0]
	*c = corev1.Container{Name: c.Name, Image: program.Image + ":" + m.pod, VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/config"}}}
	optional := m.one(3)
	source := corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: reference, Optional: &optional}}
	if m.one(3) {
		source = corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
			ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: reference, Optional: &optional},
		}}}}
	}
	spec.Volumes = []corev1.Volume{{Name: "config", VolumeSource: source}}
	c.Env = []corev1.EnvVar{{Name: "KEY", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
		LocalObjectReference: reference, Key: "key", Optional: new(true),
	}}}}
	set := func(a Action, value string) Action {
		a.ConfigMap, a.Value = name, value
		return a
	}
	var actions []Action
	if !optional || m.one(2) {
		actions = append(actions, set(Action{}, "v1"))
	}
	var p program.Program
	if m.one(3) {
		c.ReadinessProbe = m.probe("", &p)
		c.ReadinessProbe.Exec.Command = []string{"has", configFile, "v2"}
		p.Starts = []program.Start{{Reads: configFile}}
		actions = append(actions, set(Action{After: m.seconds(5, 40)}, "v2"))
		if m.one(2) {
			actions = append(actions, set(Action{After: m.seconds(140, 160)}, "v3"))
		}
	} else {
		for start := range 2 + m.IntN(2) {
			reads := configFile
			if m.one(4) {
				reads = "$KEY"
			}
			p.Starts = append(p.Starts, program.Start{Runs: m.seconds(8, 20), Code: m.IntN(2), Reads: reads})
			if m.one(2) {
				actions = append(actions, set(Action{Container: c.Name, Start: start, After: m.seconds(2, 5)}, fmt.Sprintf("v%d", 2+start)))
			}
		}
	}
	m.ends(&p)
	c.Args = p.Args()
	return actions
}
