package node

import (
	"context"
	"fmt"
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
// rejected. With untainted, they must also have lost the taints that the node lifecycle controller takes off; taints that
// the node was given stay. It returns after 10 s at the latest, or when ctx is done, and must be called once. After 10 s it
// returns a sentence for each node that is not ready, which says why.
func (a *Agent) WaitReady(ctx context.Context, untainted bool) (late []string) {
	w := &awaited{untainted: untainted, done: make(chan struct{})}
	a.mu.Lock()
	a.awaited = w
	a.mu.Unlock()
	a.checkReady()
	timer := time.NewTimer(readyWithin)
	defer timer.Stop()
	select {
	case <-w.done:
	case <-ctx.Done():
	case <-timer.C:
		for _, n := range a.nodes.Load().list {
			if why := n.unready(untainted); why != "" {
				late = append(late, fmt.Sprintf("node %s is not ready after %v, because %s; pods are scheduled without it", n.name, readyWithin, why))
			}
		}
	}
	return late
}

// checkReady ends WaitReady if all nodes are ready.
func (a *Agent) checkReady() {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.awaited
	if w == nil || slices.ContainsFunc(a.nodes.Load().list, func(n *node) bool { return n.unready(w.untainted) != "" }) {
		return
	}
	close(w.done)
	a.awaited = nil
}

// unready returns why the node is not ready. It is empty if the node is ready, or if the server has rejected it, which is
// reported elsewhere.
func (n *node) unready(untainted bool) string {
	registered, rejected := n.registration.state()
	switch {
	case rejected:
		return ""
	case !registered:
		return "its requests to register are not answered"
	}
	object, err := n.agent.lister.Get(n.name)
	if err != nil {
		return "watches of Nodes do not show it: it was deleted, or its events are held"
	}
	i := slices.IndexFunc(object.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 {
		return "it does not have the condition Ready"
	}
	if c := object.Status.Conditions[i]; c.Status != corev1.ConditionTrue {
		return fmt.Sprintf("its condition Ready is %s: %s: %s", c.Status, c.Reason, c.Message)
	}
	for _, t := range object.Spec.Taints {
		own := slices.ContainsFunc(n.registration.spec.Spec.Taints, func(given corev1.Taint) bool { return given.MatchTaint(&t) })
		if untainted && !own && (t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable) {
			return fmt.Sprintf("node-lifecycle-controller does not take the taint %s off", t.ToString())
		}
	}
	return ""
}
