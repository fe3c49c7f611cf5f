package pod

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/image"
	"github.com/fakecluster/fakecluster/workloads/internal/network"
	"github.com/fakecluster/fakecluster/workloads/internal/recorder"
	"github.com/fakecluster/fakecluster/workloads/internal/volumes"
)

// Config configures NewNode. All fields are required, except Network and Static.
type Config struct {
	// IP is the address of the node, and Addresses are those of its pods.
	IP        string
	Addresses Subnet
	// Spec is the Node as it is registered.
	Spec *corev1.Node
	// Static are the static pods, as in the manifest files of the kubelet.
	Static []*corev1.Pod
	// Client acts as the node, and Events records its Events.
	Client kubernetes.Interface
	Events *recorder.Recorder
	// Object returns the Node object; nil: it does not exist.
	Object func() *corev1.Node
	// Services has the Services of the cluster.
	Services corelisters.ServiceLister
	// Images are the images that are on the node, and Volumes has the volumes of its pods.
	Images  *image.Store
	Volumes *volumes.Node
	// Programs decides which programs run in containers.
	Programs *cri.Programs
	// Network connects the pods. nil: they are not connected.
	Network *network.Network
	// DNS is the address of the cluster's DNS.
	DNS string
	// Seed determines all random delays.
	Seed uint64
	// Report is called with errors that stop a pod from working, and Logger logs errors that are retried.
	Report func(error)
	Logger klog.Logger
	// Go runs a function on a goroutine that the node waits for.
	Go func(func())
	// Enqueue queues a pod to be synced, and Wake makes the node check its mirror pods. They are safe for concurrent
	// use.
	Enqueue func(types.UID)
	Wake    func()
}

// Node has the pods of a node, and the state that they share. It belongs to the goroutine of the node, except for View.
type Node struct {
	// View shows the pods to the API of the kubelet.
	View   *View
	config Config
	pods   map[types.UID]*Pod // by their uids for the node
	static static
	looks  looks

	addresses Subnet
	taken     map[string]types.UID // of the addresses

	backOff *flowcontrol.Backoff // of containers that have ended
}

// NewNode returns a node without pods.
func NewNode(config Config) *Node {
	return &Node{
		View: newView(config.Spec, config.Programs), config: config, pods: map[types.UID]*Pod{}, addresses: config.Addresses, taken: map[string]types.UID{},
		static: newStatic(config.Spec.Name, config.Static, time.Now()), backOff: flowcontrol.NewBackOff(10*time.Second, 300*time.Second),
	}
}

// Pod returns a pod to sync, with its newest version; nil: there is nothing to do. uid is Pod.uid, or that of a
// later mirror pod. latest is a new version of the object; nil: there is none. gone: the object is deleted.
func (n *Node) Pod(uid types.UID, latest *corev1.Pod, gone bool) *Pod {
	p := n.pods[uid]
	if p == nil {
		p = n.static.mirrored[uid]
	}
	if p != nil && latest != nil && latest.UID != p.api.UID {
		latest, gone = nil, false // a former mirror pod
	}
	if p == nil {
		if latest == nil || gone || n.static.outlived(latest) {
			return nil
		}
		p = newPod(n, latest)
		n.pods[uid] = p
		if n.static.mirrors(latest) {
			p.static = true
			n.static.pods[p.key()] = p
		}
	}
	if latest != nil {
		p.seen(latest) // also if it is deleted: its last state has the grace period
	}
	p.gone = p.gone || gone
	return p
}

// UIDs returns the uids of all pods, in order.
func (n *Node) UIDs() []types.UID { return slices.Sorted(maps.Keys(n.pods)) }

// Restore makes the pods check at a time whether another client has written their statuses.
func (n *Node) Restore(now time.Time) {
	for _, p := range n.pods {
		p.report.restore = now
	}
}

// End stops the timers, and removes the volumes that end with the pods.
func (n *Node) End() {
	if n.static.timer != nil {
		n.static.timer.Stop()
	}
	for _, p := range n.pods {
		if p.timer != nil {
			p.timer.Stop()
		}
		p.volumes.Unmount()
	}
}

// forget drops a pod that is over.
func (n *Node) forget(p *Pod) {
	if p.timer != nil {
		p.timer.Stop()
	}
	delete(n.pods, p.uid)
	delete(n.static.mirrored, p.api.UID)
	n.View.hide(p.api)
	n.View.forgetProbes(p.uid)
	n.config.Volumes.Sources.Forget(p.uid)
	n.looks.take(p.uid)
}

// inUse returns what the pods of the node use, as the scheduler counts it, when another pod is admitted. A running pod
// that is not admitted yet is being taken over.
func (n *Node) inUse(than *corev1.Pod) *framework.NodeInfo {
	info := framework.NewNodeInfo()
	for _, p := range n.pods {
		if p.api.UID != than.UID && (p.admitted || p.api.Status.Phase == corev1.PodRunning) && !p.termination.completed {
			info.AddPodInfo(p.info())
		}
	}
	return info
}
