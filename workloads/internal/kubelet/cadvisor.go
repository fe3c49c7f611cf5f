package kubelet

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
)

// The labels of cadvisor's series.
var (
	machineLabels   = []string{"machine_id", "system_uuid", "boot_id"}
	containerLabels = []string{"id", "name", "image", "pod", "namespace", "container"}
)

// The metrics of /metrics/cadvisor whose values are known here.
var (
	machineCores   = prometheus.NewDesc("machine_cpu_cores", "Number of logical CPU cores.", machineLabels, nil)
	machineMemory  = prometheus.NewDesc("machine_memory_bytes", "Amount of memory installed on the machine.", machineLabels, nil)
	cadvisorInfo   = prometheus.NewDesc("cadvisor_version_info", "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.", []string{"kernelVersion", "osVersion", "dockerVersion", "cadvisorVersion", "cadvisorRevision"}, nil)
	cadvisorError  = prometheus.NewDesc("container_scrape_error", "1 if there was an error while getting container metrics, 0 otherwise", nil, nil)
	cadvisorCPU    = prometheus.NewDesc("container_cpu_usage_seconds_total", "Cumulative cpu time consumed in seconds.", append(containerLabels[:len(containerLabels):len(containerLabels)], "cpu"), nil)
	cadvisorUsage  = containerDesc("container_memory_usage_bytes", "Current memory usage in bytes, including all memory regardless of when it was accessed")
	cadvisorSet    = containerDesc("container_memory_working_set_bytes", "Current working set in bytes.")
	cadvisorSeen   = containerDesc("container_last_seen", "Last time a container was seen by the exporter")
	cadvisorStart  = containerDesc("container_start_time_seconds", "Start time of the container since unix epoch in seconds.")
	cadvisorPeriod = containerDesc("container_spec_cpu_period", "CPU period of the container.")
	cadvisorQuota  = containerDesc("container_spec_cpu_quota", "CPU quota of the container.")
	cadvisorShares = containerDesc("container_spec_cpu_shares", "CPU share of the container.")
	cadvisorLimit  = containerDesc("container_spec_memory_limit_bytes", "Memory limit for the container.")
)

func containerDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, containerLabels, nil)
}

// cadvisorMetrics returns the handler of /metrics/cadvisor, with the values of /stats/summary.
func cadvisorMetrics(node Node) http.Handler { return serveMetrics(cadvisor{node}) }

// cadvisor collects the metrics when they are read.
type cadvisor struct{ node Node }

// Describe implements prometheus.Collector.
func (cadvisor) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		machineCores, machineMemory, cadvisorInfo, cadvisorError, cadvisorCPU, cadvisorUsage, cadvisorSet, cadvisorSeen, cadvisorStart, cadvisorPeriod, cadvisorQuota, cadvisorShares, cadvisorLimit,
	} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c cadvisor) Collect(to chan<- prometheus.Metric) {
	now := time.Now()
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	use := func(cpu *stats.CPUStats, memory *stats.MemoryStats, labels []string) {
		spent := float64(*cpu.UsageCoreNanoSeconds) / float64(time.Second)
		to <- prometheus.NewMetricWithTimestamp(now, prometheus.MustNewConstMetric(cadvisorCPU, prometheus.CounterValue, spent, append(labels[:len(labels):len(labels)], "total")...))
		for desc, value := range map[*prometheus.Desc]float64{
			cadvisorUsage: float64(*memory.UsageBytes), cadvisorSet: float64(*memory.WorkingSetBytes), cadvisorSeen: float64(now.Unix()),
		} {
			to <- prometheus.NewMetricWithTimestamp(now, prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...))
		}
	}
	status := &c.node.Spec().Status
	info := &status.NodeInfo
	machine := []string{info.MachineID, info.SystemUUID, info.BootID}
	to <- prometheus.NewMetricWithTimestamp(now, prometheus.MustNewConstMetric(machineCores, prometheus.GaugeValue, float64(status.Capacity.Cpu().Value()), machine...))
	to <- prometheus.NewMetricWithTimestamp(now, prometheus.MustNewConstMetric(machineMemory, prometheus.GaugeValue, float64(status.Capacity.Memory().Value()), machine...))
	gauge(cadvisorInfo, 1, info.KernelVersion, info.OSImage, "", "", "")
	gauge(cadvisorError, 0)

	summary := summaryOf(c.node, now)
	use(summary.Node.CPU, summary.Node.Memory, []string{"/", "", "", "", "", ""})
	for i := range summary.Pods {
		p := &summary.Pods[i]
		pod := c.node.Pod(p.PodRef.Namespace, p.PodRef.Name)
		if pod == nil {
			continue // it was deleted meanwhile
		}
		group := cgroupOf(pod)
		use(p.CPU, p.Memory, []string{group, "", "", pod.Name, pod.Namespace, ""})
		for j := range p.Containers {
			container := &p.Containers[j]
			s := statusOf(pod, container.Name)
			if s == nil {
				continue
			}
			id := strings.TrimPrefix(s.ContainerID, "containerd://")
			labels := []string{group + "/cri-containerd-" + id + ".scope", id, s.Image, pod.Name, pod.Namespace, container.Name}
			use(container.CPU, container.Memory, labels)
			gauge(cadvisorStart, float64(container.StartTime.Unix()), labels...)
			c.limits(gauge, s, labels)
		}
	}
}

// cpuPeriod is the period of a kubelet's CPU quotas, in microseconds.
const cpuPeriod = 100_000

// limits collects the resources of a container.
func (cadvisor) limits(gauge func(*prometheus.Desc, float64, ...string), s *corev1.ContainerStatus, labels []string) {
	resources := corev1.ResourceRequirements{}
	if s.Resources != nil {
		resources = *s.Resources
	}
	request := resources.Requests.Cpu().MilliValue()
	if request == 0 {
		request = resources.Limits.Cpu().MilliValue()
	}
	gauge(cadvisorPeriod, cpuPeriod, labels...)
	gauge(cadvisorShares, float64(min(max(request*1024/1000, 2), 262144)), labels...)
	if limit := resources.Limits.Cpu().MilliValue(); limit > 0 {
		gauge(cadvisorQuota, float64(limit*cpuPeriod/1000), labels...)
	}
	gauge(cadvisorLimit, float64(resources.Limits.Memory().Value()), labels...)
}

// cgroupOf returns the cgroup of a pod on a node of kind.
func cgroupOf(pod *corev1.Pod) string {
	group := "/kubelet.slice/kubelet-kubepods.slice"
	prefix := "kubelet-kubepods"
	if class := pod.Status.QOSClass; class == corev1.PodQOSBurstable || class == corev1.PodQOSBestEffort {
		prefix += "-" + strings.ToLower(string(class))
		group += "/" + prefix + ".slice"
	}
	uid := cmp.Or(pod.Annotations[kubetypes.ConfigMirrorAnnotationKey], string(pod.UID)) // a static pod has another uid than its mirror pod
	return group + "/" + prefix + "-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice"
}

// statusOf returns the status of a container of a pod; nil: there is none.
func statusOf(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if statuses[i].Name == name {
				return &statuses[i]
			}
		}
	}
	return nil
}
