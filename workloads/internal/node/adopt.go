package node

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodes are the nodes of an agent. It is not changed: adoption puts another one in its place.
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

// kwokAnnotation is the annotation of Nodes that kwok has kubelets for by default; its value is "fake".
const kwokAnnotation = "kwok.x-k8s.io/node"

// isAdopted reports whether a Node that somebody else has created wants a kubelet.
func isAdopted(object *corev1.Node) bool {
	return object.Annotations[HeartbeatsAnnotation] != "" || object.Annotations[kwokAnnotation] == "fake"
}

// adopt runs a node for an object that wants one.
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
		a.config.Report(fmt.Errorf("a kubelet for a Node: %w", err))
		return
	}
	setDefaults(spec, len(former.list))
	n, err := a.newNode(a.beats.ctx, spec, len(former.list))
	if err != nil {
		a.config.Report(err)
		return
	}
	n.adopted = true
	a.nodes.Store(former.with(n))
	if a.config.Adopted != nil {
		a.config.Adopted(view{n})
	}
	a.wait.Go(func() { n.run(a.beats.ctx) })
}

// newNode makes the i-th node.
func (a *Agent) newNode(ctx context.Context, spec *corev1.Node, i int) (*node, error) {
	client, err := a.config.Client("system:node:"+spec.Name, "system:nodes")
	if err != nil {
		return nil, fmt.Errorf("a client for node %s: %w", spec.Name, err)
	}
	var static []*corev1.Pod
	if a.config.StaticPods != nil {
		static = a.config.StaticPods(spec)
	}
	return newNode(ctx, a, spec, client, a.subnets.subnet(i), static), nil
}

// label gives the object of an adopted node the labels of a kubelet that it lacks.
func (n *node) label(ctx context.Context) error {
	object, err := n.client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	missing := maps.Clone(n.spec.Labels)
	maps.DeleteFunc(missing, func(key, _ string) bool { _, ok := object.Labels[key]; return ok })
	if len(missing) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": missing}})
	if err != nil {
		return err
	}
	_, err = n.client.CoreV1().Nodes().Patch(ctx, n.name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
