// Package images has the programs of images that many manifests run once to prepare the cluster: so far
// kube-webhook-certgen, which ingress-nginx and kube-prometheus-stack use.
//
// Each is a function that acts with the Pod's ServiceAccount. It rejects the same arguments as the real program.
package images
