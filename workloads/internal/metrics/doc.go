// Package metrics serves metrics.k8s.io/v1beta1 as metrics-server does: what Nodes and Pods use. Nothing is measured or
// stored: the answer to a request is what the nodes of package node state at that moment.
//
// [Handler] is an aggregated API server without authorization, which the API server in front of it does. It has no locks and no state. It is safe for concurrent use.
package metrics
