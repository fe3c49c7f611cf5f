package node

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/workloads/internal/image"
	"github.com/fakecluster/fakecluster/workloads/internal/kubelet"
	"github.com/fakecluster/fakecluster/workloads/internal/recorder"
	"github.com/fakecluster/fakecluster/workloads/internal/volumes"
)

// node is a node and its pods.
type node struct {
	agent   *Agent
	name    string
	ip      string
	spec    *corev1.Node // as it is registered
	client  kubernetes.Interface
	events  *recorder.Recorder
	images  *image.Store
	volumes *volumes.Node
	backOff *flowcontrol.Backoff // of containers that have ended
	logger  klog.Logger

	// Of the goroutine of the node.
	pods   map[types.UID]*pod
	subnet subnet
	taken  map[string]types.UID // addresses
	static static

	adopted  bool   // somebody else has created the object
	compared string // revision of the object; of heartbeats
	halted   bool   // by the annotation

	mu           sync.Mutex
	work         chan struct{} // has room for one: there is work
	queue        []types.UID
	queued       map[types.UID]bool
	everyPod     bool // all pods have something to do
	arrived      map[types.UID]arrival
	looks        map[types.UID][]look
	refreshing   map[types.UID]bool // the sources of their volumes have changed
	stopped      bool               // by StopHeartbeats
	resumed      bool               // and not looked at all pods since
	registered   bool
	rejected     bool // the server has not taken the Node object
	lacksCSINode bool
	pressure     map[corev1.NodeConditionType]bool
	lease        lease
	shown        map[string]*shown // by namespace and name
	counts       kubelet.Counts
	probes       map[types.UID]map[kubelet.Probe]*probed
}

// arrival is a change of a pod that the goroutine of the node has not taken over yet.
type arrival struct {
	pod  *corev1.Pod
	gone bool
}

func newNode(ctx context.Context, a *Agent, spec *corev1.Node, client kubernetes.Interface, addresses subnet, static []*corev1.Pod) *node {
	n := &node{
		agent: a, name: spec.Name, ip: internalIP(spec), spec: spec, client: client, subnet: addresses,
		events: recorder.New("kubelet", spec.Name, client), images: image.NewStore(spec.Status.Images),
		backOff: flowcontrol.NewBackOff(10*time.Second, 300*time.Second), static: newStatic(spec.Name, static, time.Now()),
		logger: klog.FromContext(ctx).WithValues("node", spec.Name),
		probes: map[types.UID]map[kubelet.Probe]*probed{},
		pods:   map[types.UID]*pod{}, taken: map[string]types.UID{},
		work: make(chan struct{}, 1), queued: map[types.UID]bool{}, arrived: map[types.UID]arrival{}, looks: map[types.UID][]look{}, refreshing: map[types.UID]bool{},
		pressure: map[corev1.NodeConditionType]bool{}, shown: map[string]*shown{},
	}
	n.volumes = volumes.NewNode(volumes.Config{
		IP: n.ip, Spec: spec, Client: client, Object: n.object, Requests: a.requests, Files: a.config.Programs.FilesOf, Store: &a.volumes,
		Events: n.events, Attacher: a.attacher, Report: a.config.Report, Logger: n.logger, Seed: a.config.Seed, Go: a.wait.Go, Enqueue: n.enqueue,
	})
	return n
}

// run registers the node, and syncs pods until ctx is done.
func (n *node) run(ctx context.Context) {
	defer n.end()
	n.register(ctx)
	select { // what pods that run already have is not given to others
	case <-ctx.Done():
		return
	case <-n.agent.listed:
	}
	n.takeOverFirst()
	n.createMirrors(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.work:
		}
		n.obey(ctx)
		for {
			n.createMirrors(ctx)
			p := n.next()
			if p == nil {
				break
			}
			p.sync(ctx)
		}
	}
}

// takeOverFirst sorts the queue. Pods that another agent has admitted come first; new pods get the resources that remain.
// Otherwise the order is that of a kubelet.
func (n *node) takeOverFirst() {
	n.mu.Lock()
	defer n.mu.Unlock()
	slices.SortFunc(n.queue, func(a, b types.UID) int {
		x, y := n.arrived[a].pod, n.arrived[b].pod
		return cmp.Or(
			cmp.Compare(rank(x.Status.StartTime != nil), rank(y.Status.StartTime != nil)),
			x.CreationTimestamp.Compare(y.CreationTimestamp.Time),
			cmp.Compare(x.Namespace+"/"+x.Name, y.Namespace+"/"+y.Name),
		)
	})
}

// rank returns a sort key that puts true before false.
func rank(later bool) int {
	if later {
		return 0
	}
	return 1
}

// end stops the timers.
func (n *node) end() {
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

// next returns a pod that has something to do, and nil if there is none. A node that is stopped does nothing.
func (n *node) next() *pod {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.everyPod && !n.stopped {
		n.everyPod = false
		if n.resumed {
			n.resumed = false
			for _, p := range n.pods {
				p.restore = time.Now()
			}
		}
		for _, uid := range slices.Sorted(maps.Keys(n.pods)) {
			if !n.queued[uid] {
				n.queued[uid] = true
				n.queue = append(n.queue, uid)
			}
		}
	}
	for len(n.queue) > 0 && !n.stopped {
		uid := n.queue[0]
		n.queue = n.queue[1:]
		delete(n.queued, uid)
		change, changed := n.arrived[uid]
		delete(n.arrived, uid)
		p := n.pods[uid]
		if p == nil {
			if !changed || change.gone || n.static.outlived(change.pod) {
				continue
			}
			p = newPod(n, change.pod)
			n.pods[uid] = p
			if n.static.mirrors(change.pod) {
				p.static = true
				n.static.pods[p.key()] = p
			}
		}
		if changed {
			p.seen(change.pod) // also if it is gone: its last state says how long its containers have
		}
		p.gone = p.gone || change.gone
		p.looks = append(p.looks, n.looks[uid]...)
		delete(n.looks, uid)
		if n.refreshing[uid] {
			delete(n.refreshing, uid)
			p.volumes.Outdate(time.Now())
		}
		return p
	}
	return nil
}

// podChanged notes a change of a pod. It is called by the informer.
func (n *node) podChanged(pod *corev1.Pod, gone bool) {
	n.mu.Lock()
	n.arrived[pod.UID] = arrival{pod: pod, gone: gone || n.arrived[pod.UID].gone}
	n.mu.Unlock()
	n.enqueue(pod.UID)
}

// enqueue has a pod synced.
func (n *node) enqueue(uid types.UID) {
	n.mu.Lock()
	if !n.queued[uid] {
		n.queued[uid] = true
		n.queue = append(n.queue, uid)
	}
	n.mu.Unlock()
	n.wake()
}

// enqueueAll has all pods synced, because the Node object is there or gone.
func (n *node) enqueueAll() {
	n.mu.Lock()
	n.everyPod = true
	n.mu.Unlock()
	n.wake()
}

func (n *node) wake() {
	select {
	case n.work <- struct{}{}:
	default:
	}
}

// forget drops a pod that is over.
func (n *node) forget(p *pod) {
	if p.timer != nil {
		p.timer.Stop()
	}
	delete(n.pods, p.api.UID)
	p.hide()
	n.volumes.Sources.Forget(p.api.UID)
	n.mu.Lock()
	delete(n.refreshing, p.api.UID)
	delete(n.looks, p.api.UID)
	delete(n.probes, p.api.UID)
	n.mu.Unlock()
}

// sourceChanged has the volumes of pods brought up to date that have files of an object.
func (n *node) sourceChanged(namespace, key string) {
	affected := n.volumes.Sources.Affected(namespace, key)
	n.mu.Lock()
	for _, uid := range affected {
		n.refreshing[uid] = true
	}
	n.mu.Unlock()
	for _, uid := range affected {
		n.enqueue(uid)
	}
}

// others returns the pods that count when another one is admitted. One that runs and is not admitted yet is being taken over.
func (n *node) others(than *corev1.Pod) []*corev1.Pod {
	var others []*corev1.Pod
	for uid, p := range n.pods {
		if uid != than.UID && (p.admitted || p.api.Status.Phase == corev1.PodRunning) && !p.completed {
			others = append(others, p.api)
		}
	}
	return others
}

// object returns the Node object, and nil if it is not there.
func (n *node) object() *corev1.Node {
	object, err := n.agent.lister.Get(n.name)
	if err != nil {
		return nil
	}
	return object
}
