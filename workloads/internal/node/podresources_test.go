package node

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestTheResourcesOfAPod compares status.resources and status.allocatedResources with a kubelet's: the CPU requests of a pod that runs are
// what fits into a weight of cgroup v2.
func TestTheResourcesOfAPod(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)}
	}
	text := func(l corev1.ResourceList) string {
		if len(l) == 0 {
			return "-"
		}
		return l.Cpu().String() + "/" + l.Memory().String()
	}
	for _, test := range []struct {
		name                        string
		containers                  []corev1.ResourceRequirements
		pod                         *corev1.ResourceRequirements
		runs                        bool
		requests, limits, allocated string
	}{
		{"nothing", []corev1.ResourceRequirements{{}}, nil, true, "-", "-", "-"},
		{"not running", []corev1.ResourceRequirements{{Requests: list("100m", "64Mi")}}, nil, false, "100m/64Mi", "-", "100m/64Mi"},
		{"running", []corev1.ResourceRequirements{{Requests: list("100m", "64Mi")}}, nil, true, "79m/64Mi", "-", "100m/64Mi"},
		{"two containers", []corev1.ResourceRequirements{{Requests: list("500m", "64Mi"), Limits: list("1", "64Mi")}, {Requests: list("500m", "64Mi"), Limits: list("1", "128Mi")}}, nil, true,
			"975m/128Mi", "2/192Mi", "1/128Mi"},
		{"the resources of the pod", []corev1.ResourceRequirements{{}}, &corev1.ResourceRequirements{Requests: list("100m", "64Mi"), Limits: list("2", "1Gi")}, true,
			"100m/64Mi", "2/1Gi", "100m/64Mi"},
		{"the resources of the pod, not running", []corev1.ResourceRequirements{{Requests: list("50m", "32Mi")}},
			&corev1.ResourceRequirements{Requests: list("100m", "64Mi"), Limits: list("2", "1Gi")}, false, "100m/64Mi", "2/1Gi", "100m/64Mi"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Resources: test.pod}}
			for _, r := range test.containers {
				pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Resources: r})
			}
			has, allocated := podResources(pod, test.runs)
			if got := text(has.Requests) + " " + text(has.Limits) + " " + text(allocated); got != test.requests+" "+test.limits+" "+test.allocated {
				t.Errorf("got %s, want %s %s %s", got, test.requests, test.limits, test.allocated)
			}
		})
	}
}
