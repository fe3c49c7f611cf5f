// Package kubeadm has what kubeadm and kind put into a cluster besides its nodes for workloads: a node of the control plane with its label and
// taint, the static pods of the control plane, CoreDNS and kube-proxy. Names, labels, annotations, arguments and volumes are those of
// kubeadm. The programs do not run: the API server, the controllers, the scheduler, the DNS and the network of a living cluster do their work.
package kubeadm
