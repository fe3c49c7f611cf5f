// Package kubeadm has the objects that kubeadm and kind create in a cluster besides worker nodes: a node of the control
// plane with its label and taint, the static pods of the control plane, CoreDNS and kube-proxy. Names, labels,
// annotations, arguments and volumes are those of kubeadm. Their programs do not run: the living cluster itself has an
// API server, controllers, a scheduler, a DNS and a network.
package kubeadm
