package cgroup

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestCgroups compares what a container sees with what a kubelet and runc write for its resources, and those of its pod.
func TestCgroups(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		l := corev1.ResourceList{}
		if cpu != "" {
			l[corev1.ResourceCPU] = resource.MustParse(cpu)
		}
		if memory != "" {
			l[corev1.ResourceMemory] = resource.MustParse(memory)
		}
		return l
	}
	for _, test := range []struct {
		name                string
		requests, limits    corev1.ResourceList
		pod                 *corev1.ResourceRequirements
		cpu, weight, memory string
		oomScoreAdj         string // on a node with 1Gi and 4 processors
	}{
		{"nothing", nil, nil, nil, "max 100000", "1", "max", "1000"},
		{"requests", list("1", "256Mi"), nil, nil, "max 100000", "100", "max", "750"},
		{"limits, which are the requests", list("2", "1Gi"), list("2", "1Gi"), nil, "200000 100000", "174", "1073741824", "-997"},
		{"a limit without a request", nil, list("500m", ""), nil, "50000 100000", "59", "max", "999"},
		{"the least quota", nil, list("1m", ""), nil, "1000 100000", "1", "max", "999"},
		{"more shares than there are", list("1000", ""), nil, nil, "max 100000", "10000", "max", "999"},
		{"limits of the pod", nil, nil, &corev1.ResourceRequirements{Requests: list("1", "512Mi"), Limits: list("4", "512Mi")}, "400000 100000", "303", "536870912", "500"},
		{"its own before those of the pod", list("100m", ""), list("1", ""), &corev1.ResourceRequirements{Requests: list("1", ""), Limits: list("4", "512Mi")},
			"100000 100000", "17", "536870912", "999"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: test.requests, Limits: test.limits}}}, Resources: test.pod,
			}}
			g := &Group{}
			c := &pod.Spec.Containers[0]
			if err := g.Set(pod, c, &c.Resources, list("4", "1Gi")); err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]string{
				"cgroup/cpu.max": test.cpu, "cgroup/cpu.weight": test.weight, "cgroup/memory.max": test.memory, "process/oom_score_adj": test.oomScoreAdj,
				"process/status": "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0",
			} {
				if got := string(g.files[name].Data); got != want+"\n" {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
	}
}
