package kubelet

import (
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// summary serves /stats/summary: the use of CPU and memory by the pods of the node, which behaviors determine.
func (s *Server) summary(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, summaryOf(s.node, time.Now()))
}

// use is the use of resources by a container since its start.
type use struct {
	usage corev1.ResourceList
	since time.Time
}

// summaryOf returns the use of resources by the pods of a node. The CPU time is that of the running containers; it
// begins at 0 with each start.
func summaryOf(node Node, moment time.Time) *stats.Summary {
	now := metav1.NewTime(moment)
	summary := &stats.Summary{Node: stats.NodeStats{NodeName: node.Name()}, Pods: []stats.PodStats{}}
	var total []use
	for _, pod := range node.Pods() {
		used := node.Usage(pod)
		p := stats.PodStats{
			PodRef:     stats.PodReference{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)},
			Containers: []stats.ContainerStats{},
		}
		if pod.Status.StartTime != nil {
			p.StartTime = *pod.Status.StartTime
		}
		var ofPod []use
		for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
			for i := range statuses {
				usage, runs := used[statuses[i].Name]
				if !runs || statuses[i].State.Running == nil {
					continue
				}
				started := statuses[i].State.Running.StartedAt
				u := use{usage, started.Time}
				p.Containers = append(p.Containers, stats.ContainerStats{Name: statuses[i].Name, StartTime: started, CPU: cpu(now, u), Memory: memory(now, u)})
				ofPod = append(ofPod, u)
			}
		}
		if len(p.Containers) == 0 {
			continue
		}
		p.CPU, p.Memory = cpu(now, ofPod...), memory(now, ofPod...)
		summary.Pods = append(summary.Pods, p)
		total = append(total, ofPod...)
	}
	summary.Node.CPU, summary.Node.Memory = cpu(now, total...), memory(now, total...)
	return summary
}

func cpu(now metav1.Time, used ...use) *stats.CPUStats {
	var rate, spent uint64
	for _, u := range used {
		cores := u.usage.Cpu().AsApproximateFloat64()
		rate += uint64(cores * 1e9)
		spent += uint64(cores * float64(max(now.Sub(u.since), 0))) // a status written by hand may have a later start
	}
	return &stats.CPUStats{Time: now, UsageNanoCores: &rate, UsageCoreNanoSeconds: &spent}
}

func memory(now metav1.Time, used ...use) *stats.MemoryStats {
	var bytes uint64
	for _, u := range used {
		bytes += uint64(u.usage.Memory().Value())
	}
	return &stats.MemoryStats{Time: now, UsageBytes: &bytes, WorkingSetBytes: &bytes, RSSBytes: &bytes}
}
