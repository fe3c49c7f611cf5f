package node

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// nodes are the nodes of an agent. They are immutable: adoption replaces them.
type nodes struct {
	list   []*node
	byName map[string]*node
}

// with returns nodes with a further one.
func (s *nodes) with(n *node) *nodes {
	more := &nodes{list: append(slices.Clone(s.list), n), byName: maps.Clone(s.byName)}
	more.byName[n.name] = n
	return more
}

// node returns the node of a name, or nil.
func (a *Agent) node(name string) *node { return a.nodes.Load().byName[name] }

// kwokAnnotation is the annotation, with the value "fake", of the Nodes for which kwok runs kubelets by default.
const kwokAnnotation = "kwok.x-k8s.io/node"

// isAdopted reports whether a Node that another client has created asks for a kubelet.
func isAdopted(object *corev1.Node) bool {
	return object.Annotations[HeartbeatsAnnotation] != "" || object.Annotations[kwokAnnotation] == "fake"
}

// adopt runs a node for an object that asks for one.
func (a *Agent) adopt(object *corev1.Node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended || a.node(object.Name) != nil || !isAdopted(object) {
		return
	}
	former := a.nodes.Load()
	spec := object.DeepCopy()
	spec.Status.Conditions = nil // those of an agent before
	if err := possible(spec); err != nil {
		a.config.Report(fmt.Errorf("no kubelet runs for Node %s: %w", object.Name, err))
		return
	}
	setDefaults(spec, len(former.list))
	n, err := a.newNode(a.beats.ctx, spec, len(former.list), true)
	if err != nil {
		a.config.Report(err)
		return
	}
	a.nodes.Store(former.with(n))
	if a.config.Adopted != nil {
		a.config.Adopted(n.pods.View)
	}
	a.wait.Go(func() { n.run(a.beats.ctx) })
}

// newNode returns the i-th node.
func (a *Agent) newNode(ctx context.Context, spec *corev1.Node, i int, adopted bool) (*node, error) {
	client, err := a.config.Client("system:node:"+spec.Name, "system:nodes")
	if err != nil {
		return nil, fmt.Errorf("a client for node %s: %w", spec.Name, err)
	}
	var static []*corev1.Pod
	if a.config.StaticPods != nil {
		static = a.config.StaticPods(spec)
	}
	return newNode(ctx, a, spec, client, a.subnets.Subnet(i), static, adopted), nil
}
