// Package network is the network of the pods of a living cluster, in memory: TCP connections and UDP packets between pods,
// Services, nodes, the test and the API server, without a socket.
//
// # Data flow
//
// A pod is a [Host]: the node adds it when the sandbox of the pod starts and closes it when the sandbox stops. The containers of
// a pod share its addresses and ports. Each is a [Process], whose listeners and connections end with it.
//
// Dial resolves a name as the pod does (names.go), by what the DNS of the cluster has (zone.go), and finds out who answers at an
// address as kube-proxy does (route.go, endpoints.go). Both read Services and EndpointSlices from informers when a program dials, so
// that nothing runs in between. Programs can also ask the DNS by packets and connections (dns.go). A connection is a pair of buffers (package pipe). A UDP packet goes to
// the queue of the socket that gets it (packet.go), and the way of its answers is remembered (flow.go).
//
// # What always holds
//
//   - Who answers for a Service follows from its EndpointSlices, and so from the readiness of pods. The choice among several
//     endpoints depends on the seed and on the connections before.
//   - Errors are those of package net over a Linux kernel: *net.OpError, *net.DNSError and syscall.Errno.
//   - Everything works in a testing/synctest bubble: a read, a write, Accept and Dial block durably. There is no goroutine
//     except for each TCP connection to the DNS, and no timer except for deadlines.
//
// Kube-proxy is in its mode nftables: a Service without endpoints and a port that a Service does not have refuse connections.
// Nothing outside of the cluster can be reached.
//
// # Locks
//
// Network.mu guards addresses, ports and the choice of endpoints; Process.mu the sockets of a process; a listener and each direction
// of a connection have a lock of their own. A goroutine holds one of them at a time, and waits with none except those that a
// sync.Cond releases.
package network
