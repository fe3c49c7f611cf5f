package node

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// readyWithin is the time after which WaitReady gives up.
const readyWithin = 10 * time.Second

// awaited is the state of a call of WaitReady.
type awaited struct {
	untainted bool
	done      chan struct{}
}

// WaitReady waits until all nodes are registered and ready in the informer of nodes, except those that the server has
// rejected. With untainted, it also waits until the node lifecycle controller has removed its taints; other taints stay.
// It returns after 10 s at the latest, or when ctx is done, and must be called once. After 10 s it returns one sentence
// for each node that is not ready, with the reason.
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
				late = append(late, fmt.Sprintf("node %s is not ready after %v: %s; pods are scheduled without it", n.name, readyWithin, why))
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

// unready returns the reason why the node is not ready. It returns "" if the node is ready, or if the server has
// rejected it, which is reported elsewhere.
func (n *node) unready(untainted bool) string {
	registered, rejected := n.registration.state()
	switch {
	case rejected:
		return ""
	case !registered:
		return "the server does not answer its requests to register"
	}
	object, err := n.agent.lister.Get(n.name)
	if err != nil {
		return "the watch of Nodes does not show it: it was deleted, or its events are held"
	}
	i := slices.IndexFunc(object.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 {
		return "it lacks the condition Ready"
	}
	if c := object.Status.Conditions[i]; c.Status != corev1.ConditionTrue {
		return fmt.Sprintf("its condition Ready is %s: %s: %s", c.Status, c.Reason, c.Message)
	}
	for _, t := range object.Spec.Taints {
		own := slices.ContainsFunc(n.registration.spec.Spec.Taints, func(given corev1.Taint) bool { return given.MatchTaint(&t) })
		if untainted && !own && (t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable) {
			return fmt.Sprintf("node-lifecycle-controller does not remove the taint %s", t.ToString())
		}
	}
	return ""
}
