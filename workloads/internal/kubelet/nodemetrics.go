package kubelet

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	kubeletmetrics "k8s.io/kubernetes/pkg/kubelet/metrics"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"

	"github.com/fakecluster/fakecluster/internal/release"
)

// Counts are the counts of a kubelet since its start.
type Counts struct {
	Pods, PodErrors int              // attempts to start a pod, and those that have failed
	Containers      map[string]int   // attempts to start a container, by its type
	ContainerErrors map[Failures]int // those that have failed
	Terminated      map[End]int      // containers that have ended
	// PodStarts has the seconds from seeing a pod until it runs, and Sizes the numbers of containers per pod.
	PodStarts, Sizes Histogram
}

// Failures is the key of counted failures to start a container.
type Failures struct {
	Type string // of the container: Container, InitContainer or EphemeralContainer of package metrics of the kubelet
	Code string // the reason, such as ErrImagePull
}

// End is the key of counted ends of containers.
type End struct{ Type, ExitCode, Reason string }

// The metrics of /metrics whose values are known here. Upstream's own are global variables.
var (
	buildInfo = prometheus.NewDesc("kubernetes_build_info", "[BETA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
		[]string{"major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version", "compiler", "platform"}, nil)
	nodeName          = kubeletDesc(kubeletmetrics.NodeNameKey, "The node's name. The count is always 1.", kubeletmetrics.NodeLabelKey)
	cgroupVersion     = kubeletDesc(kubeletmetrics.CgroupVersionKey, "cgroup version on the hosts.")
	runningPods       = kubeletDesc(kubeletmetrics.RunningPodsKey, "Number of pods that have a running pod sandbox")
	runningContainers = kubeletDesc(kubeletmetrics.RunningContainersKey, "Number of containers currently running", "container_state")
	desiredPods       = kubeletDesc(kubeletmetrics.DesiredPodCountKey, "The number of pods the kubelet is being instructed to run. static is true if the pod is not from the apiserver.", "static")
	activePods        = kubeletDesc(kubeletmetrics.ActivePodCountKey, "The number of pods the kubelet considers active and which are being considered when admitting new pods. static is true if the pod is not from the apiserver.", "static")
	mirrorPods        = kubeletDesc(kubeletmetrics.MirrorPodCountKey, "The number of mirror pods the kubelet will try to create (one per admitted static pod)")
	ephemeral         = kubeletDesc(kubeletmetrics.ManagedEphemeralContainersKey, "Current number of ephemeral containers in pods managed by this kubelet.")
	startedPods       = kubeletDesc(kubeletmetrics.StartedPodsTotalKey, "Cumulative number of pods started")
	podErrors         = kubeletDesc(kubeletmetrics.StartedPodsErrorsTotalKey, "Cumulative number of errors when starting pods")
	startedContainers = kubeletDesc(kubeletmetrics.StartedContainersTotalKey, "Cumulative number of containers started", "container_type")
	terminated        = kubeletDesc(kubeletmetrics.TerminatedContainersTotalKey, "Cumulative number of container terminations.", "container_type", "exit_code", "reason")
	containerErrors   = kubeletDesc(kubeletmetrics.StartedContainersErrorsTotalKey, "Cumulative number of errors when starting containers", "container_type", "code")
)

// The histograms of /metrics.
var (
	containersPerPod = kubeletDesc("containers_per_pod_count", "The number of containers per pod.")
	podStartDuration = kubeletDesc(kubeletmetrics.PodStartDurationKey, "Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run")
)

func kubeletDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(kubeletmetrics.KubeletSubsystem+"_"+name, "[ALPHA] "+help, labels, nil)
}

// nodeMetrics returns the handler of /metrics.
func nodeMetrics(node Node) http.Handler { return serveMetrics(nodeCollector{node}) }

// nodeCollector collects the metrics when they are read.
type nodeCollector struct{ node Node }

// Describe implements prometheus.Collector.
func (nodeCollector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		buildInfo, nodeName, cgroupVersion, runningPods, runningContainers, desiredPods, activePods, mirrorPods, ephemeral, startedPods, podErrors, startedContainers, terminated, containerErrors, containersPerPod, podStartDuration,
	} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c nodeCollector) Collect(to chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value int, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), labels...)
	}
	counter := func(desc *prometheus.Desc, value int, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(value), labels...)
	}
	v := release.Info()
	gauge(buildInfo, 1, v.Major, v.Minor, v.GitVersion, v.GitCommit, v.GitTreeState, v.BuildDate, v.GoVersion, v.Compiler, v.Platform)
	gauge(nodeName, 1, c.node.Name())
	gauge(cgroupVersion, 2)

	running, mirrors, debugging := 0, 0, 0
	desired, active, containers := map[string]int{"": 0, "true": 0}, map[string]int{"": 0, "true": 0}, map[string]int{}
	for _, pod := range c.node.Pods() {
		static := ""
		if pod.Annotations[kubetypes.ConfigSourceAnnotationKey] == kubetypes.FileSource {
			static = "true"
			mirrors++
		}
		desired[static]++
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			active[static]++
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReadyToStartContainers && condition.Status == corev1.ConditionTrue {
				running++
			}
		}
		debugging += len(pod.Spec.EphemeralContainers)
		for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses} {
			for i := range statuses {
				s := &statuses[i]
				if s.State.Running != nil {
					containers["running"]++
				}
				for _, ended := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
					if ended != nil {
						containers["exited"]++
					}
				}
			}
		}
	}
	gauge(runningPods, running)
	gauge(mirrorPods, mirrors)
	gauge(ephemeral, debugging)
	for state, n := range containers {
		gauge(runningContainers, n, state)
	}
	for static, n := range desired {
		gauge(desiredPods, n, static)
		gauge(activePods, active[static], static)
	}

	counts := c.node.Counts()
	counter(startedPods, counts.Pods)
	counter(podErrors, counts.PodErrors)
	for kind, n := range counts.Containers {
		counter(startedContainers, n, kind)
	}
	for end, n := range counts.Terminated {
		counter(terminated, n, end.Type, end.ExitCode, end.Reason)
	}
	for failure, n := range counts.ContainerErrors {
		counter(containerErrors, n, failure.Type, failure.Code)
	}
	to <- counts.Sizes.metric(containersPerPod)
	to <- counts.PodStarts.metric(podStartDuration)
}
