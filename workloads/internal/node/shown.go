package node

import (
	"cmp"
	"context"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	kubeletmetrics "k8s.io/kubernetes/pkg/kubelet/metrics"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/kubelet"
	"github.com/fakecluster/fakecluster/workloads/internal/network"
)

// shown is a pod as the API of the kubelet shows it, also while the node is busy. The lock of the node guards the map; a value does
// not change.
type shown struct {
	api        *corev1.Pod
	status     corev1.PodStatus
	containers map[string]*kubelet.Container // by ID
	running    map[string]*kubelet.Container // by name
	host       *network.Host                 // nil: it is not on the network
}

// show lets the API of the kubelet show the pod as it is now. It is called before others see a new status.
func (p *pod) show() {
	s := &shown{api: p.api, status: p.status, containers: map[string]*kubelet.Container{}, running: map[string]*kubelet.Container{}}
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
	p.node.mu.Lock()
	defer p.node.mu.Unlock()
	p.node.shown[p.key()] = s
}

// hide removes the pod from the API of the kubelet, unless another one of its name is shown.
func (p *pod) hide() {
	p.node.mu.Lock()
	defer p.node.mu.Unlock()
	if s := p.node.shown[p.key()]; s != nil && s.api.UID == p.api.UID {
		delete(p.node.shown, p.key())
	}
}

func (s *shown) pod() *corev1.Pod {
	pod := *s.api
	pod.Status = s.status
	return &pod
}

// view implements kubelet.Node.
type view struct{ *node }

// Name implements kubelet.Node.
func (v view) Name() string { return v.name }

// Pods implements kubelet.Node.
func (v view) Pods() []*corev1.Pod {
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
func (v view) Pod(namespace, name string) *corev1.Pod {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := v.shown[namespace+"/"+name]; s != nil {
		return s.pod()
	}
	return nil
}

// Container implements kubelet.Node.
func (v view) Container(pod *corev1.Pod, id string) *kubelet.Container {
	if s := v.shownOf(pod); s != nil {
		return s.containers[strings.TrimPrefix(id, "containerd://")]
	}
	return nil
}

// Running implements kubelet.Node.
func (v view) Running(pod *corev1.Pod, name string) *kubelet.Container {
	if s := v.shownOf(pod); s != nil {
		return s.running[name]
	}
	return nil
}

// Dialer implements kubelet.Node.
func (v view) Dialer(pod *corev1.Pod) func(ctx context.Context, network, address string) (net.Conn, error) {
	if s := v.shownOf(pod); s != nil && s.host != nil {
		return s.host.Dial
	}
	return nil
}

func (v view) shownOf(pod *corev1.Pod) *shown {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := v.shown[pod.Namespace+"/"+pod.Name]; s != nil && s.api.UID == pod.UID {
		return s
	}
	return nil
}

// Usage implements kubelet.Node.
func (v view) Usage(pod *corev1.Pod) map[string]corev1.ResourceList { return v.agent.Usage(pod) }

// Spec implements kubelet.Node.
func (v view) Spec() *corev1.Node { return v.spec }

// Counts implements kubelet.Node.
func (v view) Counts() kubelet.Counts {
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

// countEnds counts the containers of a pod that have ended since a status.
func (n *node) countEnds(before, after *corev1.PodStatus) {
	ends := func(before, after []corev1.ContainerStatus, kind string) {
		for i := range after {
			ended := after[i].State.Terminated
			if ended == nil {
				continue
			}
			if old, ok := podutil.GetContainerStatus(before, after[i].Name); ok && old.State.Terminated != nil {
				continue
			}
			n.count(func(c *kubelet.Counts) {
				c.Terminated[kubelet.End{Type: kind, ExitCode: strconv.Itoa(int(ended.ExitCode)), Reason: ended.Reason}]++
			})
		}
	}
	ends(before.InitContainerStatuses, after.InitContainerStatuses, kubeletmetrics.InitContainer)
	ends(before.ContainerStatuses, after.ContainerStatuses, kubeletmetrics.Container)
	ends(before.EphemeralContainerStatuses, after.EphemeralContainerStatuses, kubeletmetrics.EphemeralContainer)
}

// count changes what the kubelet has counted.
func (n *node) count(change func(*kubelet.Counts)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.counts.Containers == nil {
		n.counts.Containers, n.counts.ContainerErrors = map[string]int{}, map[kubelet.Failures]int{}
		n.counts.Terminated = map[kubelet.End]int{}
		n.counts.PodStarts, n.counts.Sizes = kubelet.NewPodStarts(), kubelet.NewContainers()
	}
	change(&n.counts)
}

// Kubelets returns what the API of the kubelet of each node shows.
func (a *Agent) Kubelets() []kubelet.Node {
	nodes := make([]kubelet.Node, 0, len(a.nodes.Load().list))
	for _, n := range a.nodes.Load().list {
		nodes = append(nodes, view{n})
	}
	return nodes
}

// DialKubelet connects to the API of the kubelet of a node by a function. While its heartbeats are stopped, nothing listens there.
func (a *Agent) DialKubelet(ctx context.Context, name string, dial func(context.Context) (net.Conn, error)) (net.Conn, error) {
	if n := a.node(name); n != nil && !n.beats() {
		return nil, &net.OpError{
			Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.ParseIP(n.ip), Port: KubeletPort},
			Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
		}
	}
	return dial(ctx)
}

// KubeletPort is the port of the API of a kubelet.
const KubeletPort = 10250
