// Package metrics serves metrics.k8s.io/v1beta1, the use of resources by Nodes and Pods, as metrics-server does. Nothing
// is measured or stored: a response has the current values of the nodes of package node.
//
// [Handler] is an aggregated API server without authorization, which is left to the API server in front of it. It has no
// state, and is safe for concurrent use.
package metrics
