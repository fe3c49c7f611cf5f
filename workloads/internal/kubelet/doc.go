// Package kubelet is the HTTP API of a node's kubelet: logs of containers, commands in them, ports of pods, and the
// pods, statistics and metrics of the node.
//
// The API server sends it requests for the subresources log, exec, attach and portforward of pods, and proxy of nodes.
// [Server] answers them by a [Node]. The protocols of exec, attach and port-forward are implemented by
// k8s.io/cri-streaming, as in container runtimes, and the errors are those of a kubelet and of containerd.
//
// # Invariants
//
//   - There is no socket: the connections are those of package network. The API server has a listener of its own. All other clients need a token and permissions, at port 10250 of the node.
//   - Everything works in a testing/synctest bubble.
//   - When [Server.Close] returns, all requests have ended.
//
// # Locks
//
// There are none. The methods of a Node are called concurrently.
package kubelet
