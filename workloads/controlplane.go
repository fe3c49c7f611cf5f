package workloads

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads/internal/kubeadm"
)

// addControlPlane adds a Node of the control plane, unless there is one.
func (s *settings) addControlPlane() {
	if s.controlPlane && len(s.nodes) > 0 && !slices.ContainsFunc(s.nodes, kubeadm.IsControlPlane) {
		s.nodes = append(s.nodes, kubeadm.Node())
	}
}

// installControlPlane creates CoreDNS and kube-proxy. It runs before the controllers start, so that they find
// all objects in their first list.
func (w *Workloads) installControlPlane(ctx context.Context, c *fakecluster.Cluster, s *settings) error {
	config := w.attachment.ConfigFor("system:workloads", "system:masters")
	admin, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	dns, err := w.dnsAddress(ctx)
	if err != nil {
		return fmt.Errorf("the address of the DNS: %w", err)
	}
	ranges, err := admin.NetworkingV1().ServiceCIDRs().Get(ctx, "kubernetes", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("the range of the addresses of Services: %w", err)
	}
	w.services = ranges.Spec.CIDRs[0]
	first := s.nodes[slices.IndexFunc(s.nodes, kubeadm.IsControlPlane)]
	return kubeadm.Install(ctx, client, c.RESTMapper(), kubeadm.Cluster{Node: first.Name, DNS: dns.String(), Services: w.services})
}

// staticPods returns the static Pods of a Node, which are those of the control plane.
func (w *Workloads) staticPods(n *corev1.Node) []*corev1.Pod {
	if w.services == "" || !kubeadm.IsControlPlane(n) {
		return nil
	}
	return kubeadm.StaticPods(n, w.services)
}
