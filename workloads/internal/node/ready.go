package node

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// readyWithin is how long WaitReady waits.
const readyWithin = 10 * time.Second

// awaited is what WaitReady waits for.
type awaited struct {
	untainted bool
	done      chan struct{}
}

// WaitReady waits until all nodes are registered and ready in the informer of nodes, except those that the server has
// rejected. With untainted, they must also have lost the taints that the node lifecycle controller takes off. It
// returns after 10 s at the latest, or when ctx is done, and must be called once.
func (a *Agent) WaitReady(ctx context.Context, untainted bool) {
	w := &awaited{untainted: untainted, done: make(chan struct{})}
	a.mu.Lock()
	a.awaited = w
	a.mu.Unlock()
	a.checkReady()
	late := time.NewTimer(readyWithin)
	defer late.Stop()
	select {
	case <-w.done:
	case <-late.C:
	case <-ctx.Done():
	}
}

// checkReady ends WaitReady if all nodes are ready.
func (a *Agent) checkReady() {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.awaited
	if w == nil || slices.ContainsFunc(a.nodes, func(n *node) bool { return !n.isReady(w.untainted) }) {
		return
	}
	close(w.done)
	a.awaited = nil
}

// isReady reports whether the node is ready, or cannot become so.
func (n *node) isReady(untainted bool) bool {
	n.mu.Lock()
	registered, rejected := n.registered, n.rejected
	n.mu.Unlock()
	if rejected || !registered {
		return rejected
	}
	object, err := n.agent.lister.Get(n.name)
	return err == nil && slices.ContainsFunc(object.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}) && !(untainted && slices.ContainsFunc(object.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
	}))
}
