package kubelet

import (
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// summary answers with what the pods of the node use, as far as behaviors say it: CPU and memory.
func (s *Server) summary(w http.ResponseWriter, _ *http.Request) {
	now := metav1.NewTime(time.Now())
	all := stats.Summary{Node: stats.NodeStats{NodeName: s.node.Name()}, Pods: []stats.PodStats{}}
	var total []corev1.ResourceList
	for _, pod := range s.node.Pods() {
		used := s.node.Usage(pod)
		p := stats.PodStats{
			PodRef:     stats.PodReference{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)},
			Containers: []stats.ContainerStats{},
		}
		if pod.Status.StartTime != nil {
			p.StartTime = *pod.Status.StartTime
		}
		var ofPod []corev1.ResourceList
		for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
			for i := range statuses {
				of, runs := used[statuses[i].Name]
				if !runs || statuses[i].State.Running == nil {
					continue
				}
				p.Containers = append(p.Containers, stats.ContainerStats{
					Name: statuses[i].Name, StartTime: statuses[i].State.Running.StartedAt, CPU: cpu(now, of), Memory: memory(now, of),
				})
				ofPod = append(ofPod, of)
			}
		}
		if len(p.Containers) == 0 {
			continue
		}
		p.CPU, p.Memory = cpu(now, ofPod...), memory(now, ofPod...)
		all.Pods = append(all.Pods, p)
		total = append(total, ofPod...)
	}
	all.Node.CPU, all.Node.Memory = cpu(now, total...), memory(now, total...)
	writeJSON(w, all)
}

func cpu(now metav1.Time, used ...corev1.ResourceList) *stats.CPUStats {
	var nanos uint64
	for _, of := range used {
		nanos += uint64(of.Cpu().ScaledValue(-9))
	}
	return &stats.CPUStats{Time: now, UsageNanoCores: &nanos}
}

func memory(now metav1.Time, used ...corev1.ResourceList) *stats.MemoryStats {
	var bytes uint64
	for _, of := range used {
		bytes += uint64(of.Memory().Value())
	}
	return &stats.MemoryStats{Time: now, UsageBytes: &bytes, WorkingSetBytes: &bytes}
}
