// Package network is the in-memory network of the pods of a living cluster: TCP connections and UDP packets between
// pods, Services, nodes, the test and the API server, without sockets.
//
// # Data flow
//
// A pod is a [Host]: the node adds it when the sandbox of the pod starts and closes it when the sandbox stops. The
// containers of a pod share its addresses and ports. Each is a [Process], whose listeners and connections end with it.
//
// Dial resolves a name as the pod does (names.go), by the DNS of the cluster (zone.go), and routes an address as
// kube-proxy does (route.go, endpoints.go). Both read Services and EndpointSlices from informers when a program dials,
// so nothing runs in between. Programs can also query the DNS (dns.go). A connection is a pair of buffers (package
// pipe). A UDP packet goes to the queue of the receiving socket (packet.go); flow.go tracks the flow for its answers,
// like conntrack.
//
// # Invariants
//
//   - The EndpointSlices of a Service, and so the readiness of pods, determine its endpoints. The choice among several
//     endpoints depends on the seed and the former connections.
//   - Errors are those of package net over a Linux kernel: *net.OpError, *net.DNSError and syscall.Errno.
//   - Everything works in a testing/synctest bubble: a read, a write, Accept and Dial block durably. The only
//     goroutines are those of TCP connections to the DNS, the only timers those of deadlines.
//
// kube-proxy has the mode nftables: a Service without endpoints and a missing port of a Service refuse connections.
// Nothing outside of the cluster can be reached.
//
// # Locks
//
// Network.mu guards addresses, ports and the choice of endpoints; Process.mu the sockets of a process; a listener and
// each direction of a connection have a lock of their own. A goroutine holds one of them at a time, and none while it
// waits: a sync.Cond releases it.
package network
