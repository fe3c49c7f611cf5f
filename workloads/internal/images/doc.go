// Package images has programs of images that many manifests run once, so that the cluster is prepared as it is with the real ones: so far
// kube-webhook-certgen, which ingress-nginx and kube-prometheus-stack use.
//
// Each is a function that does with the Pod's ServiceAccount what its arguments say. What the real program refuses is refused.
package images
