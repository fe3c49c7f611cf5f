// Package kubelet is the HTTP API of the kubelet of a node: logs of containers, and what the node reports about its pods.
//
// The API server sends it the subresources log of pods and proxy of nodes. [Server] answers with what a [Node] shows of its pods.
// The errors are those of a kubelet.
//
// # What always holds
//
//   - There is no socket. The connections are those of package network, and only the API server reaches the kubelet.
//   - Everything works in a testing/synctest bubble.
//   - When [Server.Close] returns, no request is served any more.
//
// # Locks
//
// There are none of its own. A Node's methods are called by several goroutines.
package kubelet
