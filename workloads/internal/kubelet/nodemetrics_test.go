package kubelet

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fakecluster/fakecluster/internal/release"
)

// machine is shown on a machine, with counts.
type machine struct{ shown }

func (m machine) Spec() *corev1.Node {
	return &corev1.Node{Status: corev1.NodeStatus{
		Capacity: corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("1Gi")},
		NodeInfo: corev1.NodeSystemInfo{MachineID: "m", SystemUUID: "s", BootID: "b", KernelVersion: "6.12.0", OSImage: "os"},
	}}
}

func (m machine) Counts() Counts {
	starts, sizes := NewPodStarts(), NewContainers()
	starts.Observe(1.5, 2)
	sizes.Observe(2, 3)
	sizes.Observe(40, 1)
	return Counts{Terminated: map[End]int{{"container", "139", "Error"}: 2}, PodStarts: starts, Sizes: sizes, Pods: 3, PodErrors: 1, Containers: map[string]int{"container": 4, "init_container": 1}, ContainerErrors: map[Failures]int{{"container", "ErrImagePull"}: 2}}
}

func (m machine) Probes() map[Probe]Probes {
	durations := NewProbeDurations()
	durations.Observe(0, 4)
	durations.Observe(0.3, 1)
	return map[Probe]Probes{{Kind: "Readiness", Container: "app", Pod: "web", Namespace: "default", UID: "1-2"}: {Failed: 2, Passed: durations}}
}

func (m machine) Pod(_, name string) *corev1.Pod {
	for _, p := range m.pods {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// on returns the pods of using, of which web is ready to start containers and burstable, and a static pod.
func on(since time.Time) machine {
	node := machine{using(since)}
	web := node.pods[0]
	web.UID = "1-2"
	web.Status.QOSClass = corev1.PodQOSBurstable
	web.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue}}
	app := &web.Status.ContainerStatuses[0]
	app.Image, app.ContainerID = "docker.io/library/web:1", "containerd://abc"
	app.Resources = &corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse("500m")}, Limits: corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Mi")},
	}
	static := &corev1.Pod{}
	static.Name, static.Annotations = "etcd-n1", map[string]string{"kubernetes.io/config.source": "file"}
	node.pods[1].Status.Phase = corev1.PodSucceeded
	node.pods = append(node.pods, static)
	return node
}

// series returns the lines of metrics that are no comments, and those that match a pattern alone if there is one.
func series(metrics, pattern string) string {
	var lines []string
	for line := range strings.Lines(metrics) {
		if !strings.HasPrefix(line, "#") && regexp.MustCompile(pattern).MatchString(line) {
			lines = append(lines, line)
		}
	}
	return "\n" + strings.Join(lines, "")
}

func TestMetricsOfAKubelet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := get(on(time.Now()), "/metrics")
		const want = `
kubelet_active_pods{static=""} 1
kubelet_active_pods{static="true"} 1
kubelet_cgroup_version 2
kubelet_containers_per_pod_count_bucket{le="1"} 0
kubelet_containers_per_pod_count_bucket{le="2"} 3
kubelet_containers_per_pod_count_bucket{le="4"} 3
kubelet_containers_per_pod_count_bucket{le="8"} 3
kubelet_containers_per_pod_count_bucket{le="16"} 3
kubelet_containers_per_pod_count_bucket{le="+Inf"} 4
kubelet_containers_per_pod_count_sum 46
kubelet_containers_per_pod_count_count 4
kubelet_desired_pods{static=""} 2
kubelet_desired_pods{static="true"} 1
kubelet_managed_ephemeral_containers 0
kubelet_mirror_pods 1
kubelet_node_name{node="n1"} 1
kubelet_running_containers{container_state="exited"} 2
kubelet_running_containers{container_state="running"} 2
kubelet_running_pods 1
kubelet_started_containers_errors_total{code="ErrImagePull",container_type="container"} 2
kubelet_started_containers_total{container_type="container"} 4
kubelet_started_containers_total{container_type="init_container"} 1
kubelet_started_pods_errors_total 1
kubelet_started_pods_total 3
kubelet_terminated_containers_total{container_type="container",exit_code="139",reason="Error"} 2
`
		if diff := cmp.Diff(want, series(got, "^kubelet_[^p]")); diff != "" {
			t.Errorf("the metrics (-want +got):\n%s", diff)
		}
		const starts = `
kubelet_pod_start_duration_seconds_bucket{le="0.5"} 0
kubelet_pod_start_duration_seconds_bucket{le="1"} 0
kubelet_pod_start_duration_seconds_bucket{le="2"} 2
`
		if diff := cmp.Diff(starts, series(got, `^kubelet_pod_start.*"(0.5|1|2)"`)); diff != "" {
			t.Errorf("the starts (-want +got):\n%s", diff)
		}
		for _, line := range []string{
			"# HELP kubelet_pod_start_duration_seconds [ALPHA] Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run\n" +
				"# TYPE kubelet_pod_start_duration_seconds histogram\n", "kubelet_pod_start_duration_seconds_sum 3\nkubelet_pod_start_duration_seconds_count 2\n",
			"# HELP kubelet_running_pods [ALPHA] Number of pods that have a running pod sandbox\n# TYPE kubelet_running_pods gauge\n",
			"# TYPE kubelet_started_pods_total counter\n", `,git_version="` + release.Libraries + `",`,
		} {
			if !strings.Contains(got, line) {
				t.Errorf("the metrics are without %q:\n%s", line, got)
			}
		}
	})
}

func TestMetricsOfProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := get(on(time.Now()), "/metrics/probes")
		const labels = `container="app",namespace="default",pod="web",`
		const want = `
prober_probe_duration_seconds_bucket{` + labels + `probe_type="Readiness",le="0.005"} 4
prober_probe_duration_seconds_bucket{` + labels + `probe_type="Readiness",le="0.5"} 5
prober_probe_duration_seconds_bucket{` + labels + `probe_type="Readiness",le="+Inf"} 5
prober_probe_duration_seconds_sum{` + labels + `probe_type="Readiness"} 0.3
prober_probe_duration_seconds_count{` + labels + `probe_type="Readiness"} 5
prober_probe_total{` + labels + `pod_uid="1-2",probe_type="Readiness",result="failed"} 2
prober_probe_total{` + labels + `pod_uid="1-2",probe_type="Readiness",result="successful"} 5
`
		if diff := cmp.Diff(want, series(got, `_total|_sum|_count|le="(0.005|0.5|.Inf)"`)); diff != "" {
			t.Errorf("the metrics (-want +got):\n%s", diff)
		}
	})
}

func TestMetricsOfCadvisor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := on(time.Now())
		time.Sleep(90 * time.Second)
		got := get(node, "/metrics/cadvisor")
		const slice = `/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod1_2.slice`
		app := `{container="app",id="` + slice + `/cri-containerd-abc.scope",image="docker.io/library/web:1",name="abc",namespace="default",pod="web"}`
		want := `
container_cpu_usage_seconds_total` + strings.Replace(app, `,id=`, `,cpu="total",id=`, 1) + ` 45 946684890000
container_last_seen` + app + ` 9.4668489e+08 946684890000
container_memory_usage_bytes` + app + ` 6.7108864e+07 946684890000
container_memory_working_set_bytes` + app + ` 6.7108864e+07 946684890000
container_spec_cpu_period` + app + ` 100000
container_spec_cpu_quota` + app + ` 200000
container_spec_cpu_shares` + app + ` 512
container_spec_memory_limit_bytes` + app + ` 1.048576e+06
container_start_time_seconds` + app + ` 9.466848e+08
`
		if diff := cmp.Diff(want, series(got, `container="app"`)); diff != "" {
			t.Errorf("the metrics of a container (-want +got):\n%s", diff)
		}
		const labels = `namespace="default",pod="web"}`
		for pattern, want := range map[string]string{
			`^container_cpu_usage.*container="",`: `
container_cpu_usage_seconds_total{container="",cpu="total",id="/",image="",name="",namespace="",pod=""} 45 946684890000
container_cpu_usage_seconds_total{container="",cpu="total",id="` + slice + `",image="",name="",` + labels + ` 45 946684890000
`,
			"^machine_|^cadvisor_|^container_scrape": `
cadvisor_version_info{cadvisorRevision="",cadvisorVersion="",dockerVersion="",kernelVersion="6.12.0",osVersion="os"} 1
container_scrape_error 0
machine_cpu_cores{boot_id="b",machine_id="m",system_uuid="s"} 8 946684890000
machine_memory_bytes{boot_id="b",machine_id="m",system_uuid="s"} 1.073741824e+09 946684890000
`,
		} {
			if diff := cmp.Diff(want, series(got, pattern)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", pattern, diff)
			}
		}
		if line := "# HELP container_cpu_usage_seconds_total Cumulative cpu time consumed in seconds.\n# TYPE container_cpu_usage_seconds_total counter\n"; !strings.Contains(got, line) {
			t.Errorf("the metrics are without %q", line)
		}
	})
}
