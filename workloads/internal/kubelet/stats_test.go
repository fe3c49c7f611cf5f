package kubelet

import (
	"encoding/json"
	"github.com/go-logr/logr"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // for lists of pods
)

// shown is a Node with some pods, in which each container uses half a CPU and 64 MiB, unless its name is "idle".
type shown struct {
	Node
	pods []*corev1.Pod
}

func (s shown) Name() string        { return "n1" }
func (s shown) Pods() []*corev1.Pod { return s.pods }
func (s shown) Usage(pod *corev1.Pod) map[string]corev1.ResourceList {
	usages := map[string]corev1.ResourceList{}
	for _, c := range pod.Status.ContainerStatuses {
		usages[c.Name] = corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("64Mi")}
		if c.Name == "idle" {
			usages[c.Name] = nil
		}
	}
	return usages
}

// using returns a node with the pod web, whose containers app and idle run since a time and old has ended, and the pod job, whose container has ended.
func using(since time.Time) shown {
	start := metav1.NewTime(since)
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: start}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	pod := func(name string, containers ...corev1.ContainerStatus) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "u"}, Status: corev1.PodStatus{StartTime: &start, ContainerStatuses: containers},
		}
	}
	return shown{pods: []*corev1.Pod{
		pod("web", corev1.ContainerStatus{Name: "app", State: running}, corev1.ContainerStatus{Name: "idle", State: running},
			corev1.ContainerStatus{Name: "old", State: ended}),
		pod("job", corev1.ContainerStatus{Name: "app", State: ended}),
	}}
}

// get returns the answer of a server to a GET.
func get(node Node, path string) string {
	w := httptest.NewRecorder()
	NewServer(node, logr.Discard()).http.Handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	body, _ := io.ReadAll(w.Result().Body)
	return string(body)
}

func TestTheSummaryHasWhatRunningContainersUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := metav1.Now()
		node := using(began.Time)
		time.Sleep(90 * time.Second)
		now := metav1.Now()
		used := func(rate, spent, bytes uint64) (*stats.CPUStats, *stats.MemoryStats) {
			return &stats.CPUStats{Time: now, UsageNanoCores: &rate, UsageCoreNanoSeconds: &spent}, &stats.MemoryStats{Time: now, UsageBytes: &bytes, WorkingSetBytes: &bytes, RSSBytes: &bytes}
		}
		web := stats.PodStats{PodRef: stats.PodReference{Namespace: "default", Name: "web", UID: "u"}, StartTime: began,
			Containers: []stats.ContainerStats{{Name: "app", StartTime: began}, {Name: "idle", StartTime: began}}}
		want := stats.Summary{Node: stats.NodeStats{NodeName: "n1"}}
		want.Node.CPU, want.Node.Memory = used(5e8, 45e9, 64<<20)
		web.CPU, web.Memory = used(5e8, 45e9, 64<<20)
		web.Containers[0].CPU, web.Containers[0].Memory = used(5e8, 45e9, 64<<20)
		web.Containers[1].CPU, web.Containers[1].Memory = used(0, 0, 0)
		want.Pods = []stats.PodStats{web}
		var got stats.Summary
		if err := json.Unmarshal([]byte(get(node, "/stats/summary")), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the summary (-want +got):\n%s", diff)
		}
	})
}

func TestTheMetricsHaveWhatRunningContainersUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := using(time.Now())
		time.Sleep(90 * time.Second)
		const want = `
# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container in core-seconds
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="app",namespace="default",pod="web"} 45 946684890000
container_cpu_usage_seconds_total{container="idle",namespace="default",pod="web"} 0 946684890000
# HELP container_memory_working_set_bytes [STABLE] Current working set of the container in bytes
# TYPE container_memory_working_set_bytes gauge
container_memory_working_set_bytes{container="app",namespace="default",pod="web"} 6.7108864e+07 946684890000
container_memory_working_set_bytes{container="idle",namespace="default",pod="web"} 0 946684890000
# HELP container_start_time_seconds [STABLE] Start time of the container since unix epoch in seconds
# TYPE container_start_time_seconds gauge
container_start_time_seconds{container="app",namespace="default",pod="web"} 9.466848e+08
container_start_time_seconds{container="idle",namespace="default",pod="web"} 9.466848e+08
# HELP node_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the node in core-seconds
# TYPE node_cpu_usage_seconds_total counter
node_cpu_usage_seconds_total 45 946684890000
# HELP node_memory_working_set_bytes [STABLE] Current working set of the node in bytes
# TYPE node_memory_working_set_bytes gauge
node_memory_working_set_bytes 6.7108864e+07 946684890000
# HELP pod_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the pod in core-seconds
# TYPE pod_cpu_usage_seconds_total counter
pod_cpu_usage_seconds_total{namespace="default",pod="web"} 45 946684890000
# HELP pod_memory_working_set_bytes [STABLE] Current working set of the pod in bytes
# TYPE pod_memory_working_set_bytes gauge
pod_memory_working_set_bytes{namespace="default",pod="web"} 6.7108864e+07 946684890000
# HELP resource_scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 otherwise
# TYPE resource_scrape_error gauge
resource_scrape_error 0
`
		if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), get(node, "/metrics/resource")); diff != "" {
			t.Errorf("the metrics (-want +got):\n%s", diff)
		}
	})
}

// A status that was written by hand may say that a container starts later.
func TestAContainerThatStartsLaterHasUsedNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if got := summaryOf(using(time.Now().Add(time.Hour)), time.Now()); *got.Node.CPU.UsageCoreNanoSeconds != 0 {
			t.Errorf("the CPU has been used for %d ns, want 0", *got.Node.CPU.UsageCoreNanoSeconds)
		}
	})
}

// TestRunningPods proves which pods and containers a kubelet says that run.
func TestRunningPods(t *testing.T) {
	got := get(using(time.Now()), "/runningpods/")
	want := `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"web","namespace":"default","uid":"u"},` +
		`"spec":{"containers":[{"name":"app","resources":{}},{"name":"idle","resources":{}}]},"status":{}}]}`
	if strings.TrimSpace(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
