package kubeadm

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	roleLabel     = "node-role.kubernetes.io/control-plane"
	excludedLabel = corev1.LabelNodeExcludeBalancers
)

// Node returns the node of the control plane.
func Node() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "control-plane", Labels: map[string]string{roleLabel: "", excludedLabel: ""}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: roleLabel, Effect: corev1.TaintEffectNoSchedule}}},
	}
}

// IsControlPlane reports whether a node has the label of the control plane.
func IsControlPlane(node *corev1.Node) bool {
	_, ok := node.Labels[roleLabel]
	return ok
}
