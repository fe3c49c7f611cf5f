package node

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	certificateslisters "k8s.io/client-go/listers/certificates/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/features"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/kubelet"
	"github.com/fakecluster/fakecluster/workloads/internal/network"
	"github.com/fakecluster/fakecluster/workloads/internal/pod"
	"github.com/fakecluster/fakecluster/workloads/internal/recorder"
	"github.com/fakecluster/fakecluster/workloads/internal/volumes"
)

// Config configures Start. Programs, Client, Informers and Report are required.
type Config struct {
	// Nodes are the nodes. Start sets what their specification leaves out: see [Nodes].
	Nodes []*corev1.Node
	// StaticPods returns the static pods of a node, as in the manifest files of its kubelet; nil: there are none.
	StaticPods func(*corev1.Node) []*corev1.Pod
	// Programs decides which programs run in containers: see [cri.New].
	Programs *cri.Programs
	// DNS is the address of the cluster's DNS, for /etc/resolv.conf. Default: 10.0.0.10.
	DNS string
	// Network connects the pods. The caller closes it after Wait. Default: pods are not connected.
	Network *network.Network
	// Seed determines all random delays.
	Seed uint64
	// Client returns a client that acts as a user.
	Client func(user string, groups ...string) (kubernetes.Interface, error)
	// Informers are shared with other programs of the cluster. The caller starts them after Start has returned.
	Informers informers.SharedInformerFactory
	// Revision returns the revision of the newest write to the cluster, and Faulty reports whether faults are in force.
	// With them, Leases are renewed as doc.go says; without them, by a write every 10 seconds.
	Revision func() int64
	Faulty   func() bool
	// Adopted is called with the kubelet of a node that is adopted; nil: it is not called. It must not block.
	Adopted func(kubelet.Node)
	// Attaches: the agent records the Events of attachdetach-controller for volumes, because no such controller runs.
	Attaches bool
	// Report is called with errors that stop a node or a pod from working, such as a Node object that the server
	// rejects. It may be called concurrently.
	Report func(error)
}

// defaultDNS is the address of the cluster's DNS in the default range of Services.
const defaultDNS = "10.0.0.10"

// Agent runs nodes.
type Agent struct {
	config   Config
	nodes    atomic.Pointer[nodes]
	subnets  pod.Subnets
	lister   corelisters.NodeLister
	services corelisters.ServiceLister
	requests certificateslisters.PodCertificateRequestLister // nil: the feature is off
	listed   <-chan struct{}                                 // closed when the nodes have the pods that existed at the start
	beats    beats
	volumes  volumes.Store
	attacher *recorder.Recorder // nil: another program attaches volumes
	wait     sync.WaitGroup

	mu      sync.Mutex
	ended   bool     // no node is adopted any more
	awaited *awaited // by WaitReady
}

// Start registers the nodes and runs their pods until ctx is done. It returns an error at once if the specification of a
// node is invalid.
func Start(ctx context.Context, config Config) (*Agent, error) {
	specs, err := complete(config.Nodes)
	if err != nil {
		return nil, err
	}
	config.DNS = cmp.Or(config.DNS, defaultDNS)
	a := &Agent{config: config, lister: config.Informers.Core().V1().Nodes().Lister(),
		services: config.Informers.Core().V1().Services().Lister()}
	if config.Attaches {
		const group = "system:serviceaccounts"
		client, err := config.Client("system:serviceaccount:kube-system:attachdetach-controller", group, group+":kube-system", "system:authenticated")
		if err != nil {
			return nil, err
		}
		a.attacher = recorder.New("attachdetach-controller", "", client)
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.PodCertificateRequest) {
		a.requests = config.Informers.Certificates().V1().PodCertificateRequests().Lister()
	}
	a.beats = beats{ctx: ctx, writing: make(chan struct{}, 1), last: time.Now()}
	a.subnets = pod.NewSubnets(specs)
	initial := &nodes{byName: map[string]*node{}}
	for i, spec := range specs {
		n, err := a.newNode(ctx, spec, i, false)
		if err != nil {
			return nil, err
		}
		initial = initial.with(n)
	}
	a.nodes.Store(initial)
	if err := a.follow(); err != nil {
		return nil, err
	}
	for _, n := range initial.list {
		a.wait.Go(func() { n.run(ctx) })
	}
	a.wait.Go(func() { a.heartbeats(ctx) })
	return a, nil
}

// Wait returns when the context of Start is done and all goroutines of the agent have ended.
func (a *Agent) Wait() {
	<-a.beats.ctx.Done()
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	a.wait.Wait()
	if err := a.volumes.Close(); err != nil {
		a.config.Report(fmt.Errorf("remove the folders of volumes: %w", err))
	}
}

// follow passes the changes of pods and nodes to their nodes.
func (a *Agent) follow() error {
	pods, err := a.config.Informers.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { a.pod(object, false) },
		UpdateFunc: func(_, object any) { a.pod(object, false) },
		DeleteFunc: func(object any) { a.pod(object, true) },
	})
	if err != nil {
		return fmt.Errorf("follow pods: %w", err)
	}
	a.listed = pods.HasSyncedChecker().Done()
	_, err = a.config.Informers.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { a.nodeChanged(object); a.checkReady() },
		UpdateFunc: func(before, after any) { a.nodeUpdated(before, after); a.checkReady() },
		DeleteFunc: func(object any) { a.nodeChanged(object) },
	})
	if err != nil {
		return fmt.Errorf("follow nodes: %w", err)
	}
	if err := a.followRequests(); err != nil {
		return fmt.Errorf("follow PodCertificateRequests: %w", err)
	}
	sources := map[string]cache.SharedIndexInformer{
		"configmap": a.config.Informers.Core().V1().ConfigMaps().Informer(),
		"secret":    a.config.Informers.Core().V1().Secrets().Informer(),
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.ClusterTrustBundle) { // they are served
		sources["trustbundle"] = a.config.Informers.Certificates().V1().ClusterTrustBundles().Informer()
	}
	for kind, informer := range sources {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { a.source(kind, object) },
			UpdateFunc: func(_, object any) { a.source(kind, object) },
			DeleteFunc: func(object any) { a.source(kind, object) },
		}); err != nil {
			return fmt.Errorf("follow the sources of volumes: %w", err)
		}
	}
	return nil
}

// followRequests passes changes of PodCertificateRequests to their pods, if the feature is on.
func (a *Agent) followRequests() error {
	if a.requests == nil {
		return nil
	}
	changed := func(object any) {
		if request, ok := lastState(object).(*certificatesv1.PodCertificateRequest); ok {
			if n := a.node(string(request.Spec.NodeName)); n != nil {
				n.queue.add(request.Spec.PodUID)
			}
		}
	}
	_, err := a.config.Informers.Certificates().V1().PodCertificateRequests().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }, DeleteFunc: changed,
	})
	return err
}

// source updates the volumes with files of an object.
func (a *Agent) source(kind string, object any) {
	if object, ok := lastState(object).(metav1.Object); ok {
		key := kind + "/" + object.GetName()
		if kind == "trustbundle" {
			key = kind
		}
		for _, n := range a.nodes.Load().list {
			n.sourceChanged(object.GetNamespace(), key)
		}
	}
}

// lastState returns the object that an informer passes on. For an object whose deletion the informer has missed, it is
// the last known state.
func lastState(object any) any {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		return unknown.Obj
	}
	return object
}

func (a *Agent) pod(object any, gone bool) {
	if pod, ok := lastState(object).(*corev1.Pod); ok {
		if n := a.node(pod.Spec.NodeName); n != nil {
			n.queue.change(pod, gone)
		}
	}
}

// nodeChanged tells a node that its Node object is new or deleted, and adopts a new one.
func (a *Agent) nodeChanged(object any) {
	if object, ok := lastState(object).(*corev1.Node); ok {
		if n := a.node(object.Name); n != nil {
			n.queue.addAll()
		} else if _, err := a.lister.Get(object.Name); err == nil {
			a.adopt(object)
		}
	}
}

// nodeUpdated tells a node that its annotation has changed, and adopts a Node that was annotated.
func (a *Agent) nodeUpdated(before, after any) {
	former, current := before.(*corev1.Node), after.(*corev1.Node)
	n := a.node(current.Name)
	if n == nil {
		a.adopt(current)
	} else if former.Annotations[HeartbeatsAnnotation] != current.Annotations[HeartbeatsAnnotation] {
		n.queue.wake()
	}
}

// Node returns a node. If it does not exist, the error lists the existing ones.
func (a *Agent) Node(name string) (*Node, error) {
	if n := a.node(name); n != nil {
		return &Node{n}, nil
	}
	names := make([]string, 0, len(a.nodes.Load().list))
	for _, n := range a.nodes.Load().list {
		names = append(names, n.name)
	}
	return nil, fmt.Errorf("node %q does not exist; the nodes are %v", name, names)
}
