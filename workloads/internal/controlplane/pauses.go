package controlplane

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	coordinationinformers "k8s.io/client-go/informers/coordination/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	coordinationlisters "k8s.io/client-go/listers/coordination/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler"
	nodeutil "k8s.io/kubernetes/pkg/util/node"
	"k8s.io/kubernetes/pkg/util/taints"
)

// Idle tells the node lifecycle controller whether there is something to do.
type Idle struct {
	// Revision returns the revision of the newest write to the cluster.
	Revision func() int64
	// Faulty reports whether a fault is in force.
	Faulty func() bool
	// Beat returns the time of a node's last beat, which may be later than the time in the Lease. beats is true if
	// further beats will succeed unless something is written before. found is false if only the Lease counts.
	Beat func(node string) (last time.Time, beats, found bool)
}

// pauses makes the node lifecycle controller wait while there is nothing to do. The controller checks all nodes every 5
// seconds, and 10 times a second for nodes to taint, in loops whose clock cannot be replaced. But it takes the functions
// that the loops call: the lister of nodes of the first loop returns late, and so does the logger that the second loop
// reads from its context. A pause ends at a multiple of the loop's period.
//
// The first loop waits if all nodes are ready and renew their Leases, and nothing was written since its last round. Then
// the second loop waits until the first one finds a node that is not ready or does not renew its Lease, since only the
// first loop finds nodes to taint. The rounds of the second loop are between those of the first: at the same time, it
// might look at a node before the change for which it must taint the node, and would forget it.
type pauses struct {
	*Idle  // nil: there are no pauses
	period time.Duration
	lister corelisters.NodeLister
	events atomic.Int64 // of nodes that the informer has passed on

	// Of the first loop.
	calm bool  // at the last round
	last state // at the last round
	done <-chan struct{}

	shifted bool // the rounds of the second loop are between those of the first one

	mu    sync.Mutex
	taint chan struct{} // closed when the second loop must continue; nil: it need not wait
}

// state changes whenever something may have changed that the controller reads.
type state struct{ revision, events int64 }

func newPauses(idle *Idle, period time.Duration, nodes coreinformers.NodeInformer) (*pauses, error) {
	p := &pauses{Idle: idle, period: period, lister: nodes.Lister()}
	_, err := nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { p.events.Add(1) }, UpdateFunc: func(any, any) { p.events.Add(1) }, DeleteFunc: func(any) { p.events.Add(1) },
	})
	return p, err
}

func (p *pauses) state() state { return state{p.Revision(), p.events.Load()} }

// list returns the nodes when the first loop must continue.
func (p *pauses) list(selector labels.Selector) ([]*corev1.Node, error) {
	if p.Idle == nil {
		return p.lister.List(selector)
	}
	now := p.state()
	if p.calm && now == p.last && !p.Faulty() && p.allBeat() {
		ticker := time.NewTicker(p.period)
		defer ticker.Stop()
		for now == p.last && !p.Faulty() && p.allBeat() {
			select {
			case <-p.done:
				return nil, context.Canceled
			case <-ticker.C:
			}
			now = p.state()
		}
	}
	nodes, err := p.lister.List(selector)
	p.last, p.calm = now, err == nil && p.allBeat() && !slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return !p.isCalm(n) })
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.calm && p.taint == nil:
		p.taint = make(chan struct{})
	case !p.calm && p.taint != nil:
		close(p.taint)
		p.taint = nil
	}
	return nodes, err
}

// allBeat reports whether all nodes continue to renew their Leases.
func (p *pauses) allBeat() bool {
	nodes, err := p.lister.List(labels.Everything())
	return err == nil && !slices.ContainsFunc(nodes, func(n *corev1.Node) bool {
		_, beats, _ := p.Beat(n.Name)
		return !beats
	})
}

// isCalm reports whether the controller has nothing to do for a node as long as it renews its Lease.
func (p *pauses) isCalm(n *corev1.Node) bool {
	return nodeutil.IsNodeReady(n) && !taints.TaintKeyExists(n.Spec.Taints, corev1.TaintNodeNotReady) &&
		!taints.TaintKeyExists(n.Spec.Taints, corev1.TaintNodeUnreachable)
}

// waitForTaints returns when the second loop must continue.
func (p *pauses) waitForTaints() {
	p.mu.Lock()
	taint := p.taint
	p.mu.Unlock()
	if taint == nil && p.shifted {
		return
	}
	if taint != nil {
		select {
		case <-taint:
		case <-p.done:
			return
		}
	}
	timer := time.NewTimer(scheduler.NodeEvictionPeriod / 2)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.done:
	}
	p.shifted = true
}

// nodes returns the informer of nodes for the controller. Only the first loop lists them.
func (p *pauses) nodes(informer coreinformers.NodeInformer) coreinformers.NodeInformer {
	return pausedNodes{informer, p}
}

type pausedNodes struct {
	coreinformers.NodeInformer
	pauses *pauses
}

func (n pausedNodes) Lister() corelisters.NodeLister {
	return pausedLister{n.NodeInformer.Lister(), n.pauses}
}

type pausedLister struct {
	corelisters.NodeLister
	pauses *pauses
}

func (l pausedLister) List(selector labels.Selector) ([]*corev1.Node, error) {
	return l.pauses.list(selector)
}

// context returns the context of the controller.
func (p *pauses) context(ctx context.Context) context.Context {
	p.done = ctx.Done()
	if p.Idle == nil {
		return ctx
	}
	return pausingContext{ctx, p}
}

type pausingContext struct {
	context.Context
	pauses *pauses
}

// Value implements context.Context. The second loop calls it for its logger.
func (c pausingContext) Value(key any) any {
	if key == loggerKey && calledBy(".doNoExecuteTaintingPass") {
		c.pauses.waitForTaints()
	}
	return c.Context.Value(key)
}

// calledBy reports whether the name of one of the callers has a suffix.
func calledBy(end string) bool {
	counters := make([]uintptr, 8)
	frames := runtime.CallersFrames(counters[:runtime.Callers(3, counters)])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, end) {
			return true
		}
		if !more {
			return false
		}
	}
}

// loggerKey is the key of the logger in a context.
var loggerKey = func() any {
	k := keyRecorder{Context: context.Background(), key: new(any)}
	_, _ = logr.FromContext(k)
	return *k.key
}()

type keyRecorder struct {
	context.Context
	key *any
}

func (k keyRecorder) Value(key any) any {
	*k.key = key
	return nil
}

// leases returns the informer of Leases for the controller. Its lister also shows beats that are not written.
func (p *pauses) leases(informer coordinationinformers.LeaseInformer) coordinationinformers.LeaseInformer {
	if p.Idle == nil {
		return informer
	}
	return leasesWithBeats{informer, p.Idle}
}

type leasesWithBeats struct {
	coordinationinformers.LeaseInformer
	idle *Idle
}

func (l leasesWithBeats) Lister() coordinationlisters.LeaseLister {
	return listerWithBeats{l.LeaseInformer.Lister(), l.idle}
}

type listerWithBeats struct {
	coordinationlisters.LeaseLister
	idle *Idle
}

func (l listerWithBeats) Leases(namespace string) coordinationlisters.LeaseNamespaceLister {
	leases := l.LeaseLister.Leases(namespace)
	if namespace != corev1.NamespaceNodeLease {
		return leases
	}
	return nodeLeasesWithBeats{leases, l.idle}
}

type nodeLeasesWithBeats struct {
	coordinationlisters.LeaseNamespaceLister
	idle *Idle
}

func (l nodeLeasesWithBeats) Get(name string) (*coordinationv1.Lease, error) {
	lease, err := l.LeaseNamespaceLister.Get(name)
	if err != nil {
		return nil, err
	}
	beat, _, found := l.idle.Beat(name)
	if renewed := lease.Spec.RenewTime; !found || renewed != nil && !renewed.Time.Before(beat) {
		return lease, nil
	}
	renewed := lease.DeepCopy()
	renewal := metav1.NewMicroTime(beat)
	renewed.Spec.RenewTime = &renewal
	return renewed, nil
}
