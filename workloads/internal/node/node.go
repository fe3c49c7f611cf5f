package node

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/workloads/internal/image"
	"github.com/fakecluster/fakecluster/workloads/internal/pod"
	"github.com/fakecluster/fakecluster/workloads/internal/recorder"
	"github.com/fakecluster/fakecluster/workloads/internal/volumes"
)

// node is a node of the cluster: its registration, its pods, and the queue of the pods to sync.
type node struct {
	agent        *Agent
	name         string
	registration *registration
	pods         *pod.Node     // of the goroutine of the node
	volumes      *volumes.Node // of its pods
	queue        queue
	halted       bool // by the annotation; of the goroutine of the node

	halting sync.Mutex // held by halt
}

func newNode(ctx context.Context, a *Agent, spec *corev1.Node, client kubernetes.Interface, addresses pod.Subnet, static []*corev1.Pod, adopted bool) *node {
	n := &node{agent: a, name: spec.Name, queue: newQueue()}
	ip, events, images := internalIP(spec), recorder.New("kubelet", spec.Name, client), image.NewStore(spec.Status.Images)
	logger := klog.FromContext(ctx).WithValues("node", spec.Name)
	n.registration = &registration{
		spec: spec, client: client, events: events, images: images, logger: logger, report: a.config.Report, adopted: adopted,
		pressure: map[corev1.NodeConditionType]bool{},
	}
	n.volumes = volumes.NewNode(volumes.Config{
		IP: ip, Spec: spec, Client: client, Object: n.object, Requests: a.requests, Files: a.config.Programs.FilesOf, Store: &a.volumes,
		Events: events, Attacher: a.attacher, Report: a.config.Report, Logger: logger, Seed: a.config.Seed, Go: a.wait.Go, Enqueue: n.queue.add,
	})
	n.pods = pod.NewNode(pod.Config{
		IP: ip, Addresses: addresses, Spec: spec, Static: static, Client: client, Events: events, Object: n.object, Services: a.services,
		Images: images, Volumes: n.volumes, Programs: a.config.Programs, Network: a.config.Network, DNS: a.config.DNS, Seed: a.config.Seed,
		Report: a.config.Report, Logger: logger, Go: a.wait.Go, Enqueue: n.queue.add, Wake: n.queue.wake,
	})
	return n
}

// run registers the node, and syncs pods until ctx is done.
func (n *node) run(ctx context.Context) {
	defer n.pods.End()
	n.registration.register(ctx)
	n.agent.checkReady()
	select { // resources of running pods are not given to others
	case <-ctx.Done():
		return
	case <-n.agent.listed:
	}
	n.queue.sortFirst()
	n.createMirrors(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.queue.work:
		}
		n.applyAnnotation(ctx)
		for {
			n.createMirrors(ctx)
			p := n.next()
			if p == nil {
				break
			}
			p.Sync(ctx)
		}
	}
}

func (n *node) createMirrors(ctx context.Context) {
	if n.registration.beats() {
		n.pods.CreateMirrors(ctx)
	}
}

// next returns a pod to sync, or nil if there is none.
func (n *node) next() *pod.Pod {
	if begins, resumed := n.queue.beginAll(); begins {
		if resumed {
			n.pods.Restore(time.Now())
		}
		n.queue.begin(n.pods.UIDs())
	}
	for {
		t, ok := n.queue.next()
		if !ok {
			return nil
		}
		p := n.pods.Pod(t.uid, t.arrival.pod, t.arrival.gone)
		if p == nil {
			continue
		}
		if t.refresh {
			p.Outdate(time.Now())
		}
		return p
	}
}

// sourceChanged updates the volumes with files of an object.
func (n *node) sourceChanged(namespace, key string) {
	n.queue.refresh(n.volumes.Sources.Affected(namespace, key))
}

// halt stops the heartbeats and pauses the queue, or resumes both. It reports whether they were stopped before.
// Concurrent calls leave both in the same state.
func (n *node) halt(on bool) (former bool) {
	n.halting.Lock()
	defer n.halting.Unlock()
	n.queue.pause(on)
	return n.registration.stop(on)
}

// object returns the Node object, or nil if it does not exist.
func (n *node) object() *corev1.Node {
	object, err := n.agent.lister.Get(n.name)
	if err != nil {
		return nil
	}
	return object
}
