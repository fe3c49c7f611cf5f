package pod

import (
	"cmp"
	"context"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	kubeletmetrics "k8s.io/kubernetes/pkg/kubelet/metrics"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/kubelet"
	"github.com/fakecluster/fakecluster/workloads/internal/network"
)

// shown is a pod as the API of the kubelet shows it. It is immutable.
type shown struct {
	api        *corev1.Pod
	status     corev1.PodStatus
	containers map[string]*kubelet.Container // by ID
	running    map[string]*kubelet.Container // by name
	host       *network.Host                 // nil: it has not joined the network
}

// show makes the API of the kubelet show the current state of the pod. It is called before other clients see a new
// status.
func (p *Pod) show() {
	s := &shown{api: p.api, status: p.report.status, containers: map[string]*kubelet.Container{}, running: map[string]*kubelet.Container{}}
	if !p.sandbox.stopped {
		s.host = p.sandbox.host
	}
	for name, runs := range p.runs {
		for _, c := range runs {
			s.containers[c.id] = &c.served
		}
		if runs[0].running() {
			s.running[name] = &runs[0].served
		}
	}
	p.node.View.show(p.key(), s)
}

func (s *shown) pod() *corev1.Pod {
	pod := *s.api
	pod.Status = s.status
	return &pod
}

// View shows the pods of a node to the API of its kubelet, even while the node is busy. It implements kubelet.Node. Its
// methods are safe for concurrent use.
type View struct {
	spec     *corev1.Node
	programs *cri.Programs

	mu     sync.Mutex
	shown  map[string]*shown // by namespace and name
	counts kubelet.Counts
	probes map[types.UID]map[kubelet.Probe]*probed
}

func newView(spec *corev1.Node, programs *cri.Programs) *View {
	return &View{
		spec: spec, programs: programs, shown: map[string]*shown{}, probes: map[types.UID]map[kubelet.Probe]*probed{},
	}
}

func (v *View) show(key string, s *shown) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shown[key] = s
}

// hide removes a pod, unless another one of its name is shown.
func (v *View) hide(pod *corev1.Pod) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := v.shown[pod.Namespace+"/"+pod.Name]; s != nil && s.api.UID == pod.UID {
		delete(v.shown, pod.Namespace+"/"+pod.Name)
	}
}

// Name implements kubelet.Node.
func (v *View) Name() string { return v.spec.Name }

// Pods implements kubelet.Node.
func (v *View) Pods() []*corev1.Pod {
	v.mu.Lock()
	pods := make([]*corev1.Pod, 0, len(v.shown))
	for _, s := range v.shown {
		pods = append(pods, s.pod())
	}
	v.mu.Unlock()
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return pods
}

// Pod implements kubelet.Node.
func (v *View) Pod(namespace, name string) *corev1.Pod {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := v.shown[namespace+"/"+name]; s != nil {
		return s.pod()
	}
	return nil
}

// Container implements kubelet.Node.
func (v *View) Container(pod *corev1.Pod, id string) *kubelet.Container {
	if s := v.shownOf(pod); s != nil {
		return s.containers[strings.TrimPrefix(id, "containerd://")]
	}
	return nil
}

// Running implements kubelet.Node.
func (v *View) Running(pod *corev1.Pod, name string) *kubelet.Container {
	if s := v.shownOf(pod); s != nil {
		return s.running[name]
	}
	return nil
}

// Dialer implements kubelet.Node.
func (v *View) Dialer(pod *corev1.Pod) func(ctx context.Context, network, address string) (net.Conn, error) {
	if s := v.shownOf(pod); s != nil && s.host != nil {
		return s.host.Dial
	}
	return nil
}

func (v *View) shownOf(pod *corev1.Pod) *shown {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := v.shown[pod.Namespace+"/"+pod.Name]; s != nil && s.api.UID == pod.UID {
		return s
	}
	return nil
}

// Usage implements kubelet.Node.
func (v *View) Usage(pod *corev1.Pod) map[string]corev1.ResourceList { return v.programs.Usage(pod) }

// Spec implements kubelet.Node.
func (v *View) Spec() *corev1.Node { return v.spec }

// Counts implements kubelet.Node.
func (v *View) Counts() kubelet.Counts {
	v.mu.Lock()
	defer v.mu.Unlock()
	counts := v.counts
	counts.Containers, counts.ContainerErrors = maps.Clone(counts.Containers), maps.Clone(counts.ContainerErrors)
	counts.Terminated = maps.Clone(counts.Terminated)
	counts.PodStarts, counts.Sizes = counts.PodStarts.Clone(), counts.Sizes.Clone()
	return counts
}

// containerTypes are the types of containers in metrics.
var containerTypes = map[cri.ContainerKind]string{
	cri.Main: kubeletmetrics.Container, cri.Init: kubeletmetrics.InitContainer, cri.Sidecar: kubeletmetrics.InitContainer, cri.Ephemeral: kubeletmetrics.EphemeralContainer,
}

// countEnds counts the containers of a pod that have ended between two statuses.
func (v *View) countEnds(before, after *corev1.PodStatus) {
	ends := func(before, after []corev1.ContainerStatus, kind string) {
		for i := range after {
			ended := after[i].State.Terminated
			if ended == nil {
				continue
			}
			if old, ok := podutil.GetContainerStatus(before, after[i].Name); ok && old.State.Terminated != nil {
				continue
			}
			v.count(func(c *kubelet.Counts) {
				c.Terminated[kubelet.End{Type: kind, ExitCode: strconv.Itoa(int(ended.ExitCode)), Reason: ended.Reason}]++
			})
		}
	}
	ends(before.InitContainerStatuses, after.InitContainerStatuses, kubeletmetrics.InitContainer)
	ends(before.ContainerStatuses, after.ContainerStatuses, kubeletmetrics.Container)
	ends(before.EphemeralContainerStatuses, after.EphemeralContainerStatuses, kubeletmetrics.EphemeralContainer)
}

// count changes the counts of the kubelet.
func (v *View) count(change func(*kubelet.Counts)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.counts.Containers == nil {
		v.counts.Containers, v.counts.ContainerErrors = map[string]int{}, map[kubelet.Failures]int{}
		v.counts.Terminated = map[kubelet.End]int{}
		v.counts.PodStarts, v.counts.Sizes = kubelet.NewPodStarts(), kubelet.NewContainers()
	}
	change(&v.counts)
}
