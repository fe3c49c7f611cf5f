// Package kubelet is the HTTP API of the kubelet of a node: logs of containers, commands in them, ports of pods, and what the node
// reports about its pods, its metrics among it.
//
// The API server sends it the subresources log, exec, attach and portforward of pods, and proxy of nodes. [Server] answers with
// what a [Node] shows of its pods. The protocols of exec, attach and port-forward are those of container runtimes, by the
// package that these use (k8s.io/cri-streaming), and the errors are those of a kubelet and of containerd.
//
// # What always holds
//
//   - There is no socket. The connections are those of package network. The API server has a listener of its own; all others are asked for
//     a token and permissions at port 10250 of the node.
//   - Everything works in a testing/synctest bubble.
//   - When [Server.Close] returns, no request is served any more.
//
// # Locks
//
// There are none of its own. A Node's methods are called by several goroutines.
package kubelet
