package cgroup

import (
	"fmt"
	"math"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/kubelet/qos"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// Group is the control group of a container as its processes see it: the files of cgroup v2 in /sys/fs/cgroup, and files
// of /proc about the first process. They show the resources of the container. The zero value has no files.
type Group struct {
	mu    sync.Mutex
	files map[string]files.File
	tree  *files.Tree // nil: Mounts was not called
}

// The folders of the tree of a cgroup.
const (
	groupFolder   = "cgroup"
	processFolder = "process"
)

// Mounts returns the tree with the files, and their mounts in a container.
func (g *Group) Mounts() (*files.Tree, []files.Mount) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tree == nil {
		g.tree = files.NewTree()
		_ = g.tree.Replace(g.files) // it does not fail in memory
	}
	return g.tree, []files.Mount{
		{Path: "/sys/fs/cgroup", Tree: g.tree, SubPath: groupFolder, ReadOnly: true},
		{Path: "/proc/1", Tree: g.tree, SubPath: processFolder, ReadOnly: true},
		{Path: "/proc/self", Tree: g.tree, SubPath: processFolder, ReadOnly: true},
	}
}

// Set updates the files to the resources of a container of a pod on a node with a capacity.
func (g *Group) Set(pod *corev1.Pod, spec *corev1.Container, resources *corev1.ResourceRequirements, capacity corev1.ResourceList) error {
	cpu, memory := limitOf(pod, resources, corev1.ResourceCPU), limitOf(pod, resources, corev1.ResourceMemory)
	request, requested := resources.Requests[corev1.ResourceCPU]
	if !requested || request.IsZero() {
		request = cpu
	}
	found := map[string]files.File{}
	for name, text := range map[string]string{
		groupFolder + "/cgroup.controllers": "cpuset cpu io memory hugetlb pids rdma misc",
		groupFolder + "/cpu.max":            quota(cpu.MilliValue()),
		groupFolder + "/cpu.weight":         strconv.FormatUint(weight(shares(request.MilliValue())), 10),
		groupFolder + "/memory.max":         orMax(memory.Value()),
		groupFolder + "/memory.high":        "max",
		groupFolder + "/memory.low":         "0",
		groupFolder + "/memory.min":         "0",
		groupFolder + "/memory.swap.max":    "0",
		groupFolder + "/pids.max":           "max",
		processFolder + "/cgroup":           "0::/",
		processFolder + "/oom_score_adj":    strconv.Itoa(qos.GetContainerOOMScoreAdjust(pod, spec, max(capacity.Memory().Value(), 1))),
		processFolder + "/status":           "Cpus_allowed_list:\t" + processors(capacity.Cpu().Value()) + "\nMems_allowed_list:\t0",
	} {
		found[name] = files.File{Data: []byte(text + "\n"), Mode: 0o444}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.files = found
	if g.tree == nil {
		return nil
	}
	return g.tree.Replace(found)
}

// limitOf returns the limit of a container: its own, or else that of the pod.
func limitOf(pod *corev1.Pod, resources *corev1.ResourceRequirements, name corev1.ResourceName) resource.Quantity {
	limit := resources.Limits[name]
	if limit.IsZero() && utilfeature.DefaultFeatureGate.Enabled(features.PodLevelResources) && resourcehelper.IsPodLevelResourcesSet(pod) {
		limit = pod.Spec.Resources.Limits[name]
	}
	return limit
}

// quota returns cpu.max: the microseconds of each 100 milliseconds that a container may run, and the period.
func quota(milliCPU int64) string {
	const period, least = 100_000, 1_000
	if milliCPU == 0 {
		return fmt.Sprintf("max %d", period)
	}
	return fmt.Sprintf("%d %d", max(milliCPU*period/1000, least), period)
}

// shares returns the CPU shares of cgroup v1, which a kubelet passes to the container runtime.
func shares(milliCPU int64) uint64 {
	const least, most = 2, 262_144
	return uint64(min(max(milliCPU*1024/1000, least), most))
}

// weight converts shares to the weight of cgroup v2, as runc does: 2, 1024 and 262144 become 1, 100 and 10000.
func weight(shares uint64) uint64 {
	switch {
	case shares <= 2:
		return 1
	case shares >= 262_144:
		return 10_000
	}
	l := math.Log2(float64(shares))
	return uint64(math.Ceil(math.Pow(10, (l*l+125*l)/612-7.0/34)))
}

// processors returns the list of n processors, as in /proc.
func processors(n int64) string {
	if n <= 1 {
		return "0"
	}
	return fmt.Sprintf("0-%d", n-1)
}

func orMax(bytes int64) string {
	if bytes == 0 {
		return "max"
	}
	return strconv.FormatInt(bytes, 10)
}
