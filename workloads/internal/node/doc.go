// Package node runs the nodes of a living cluster: it registers Node objects, renews their Leases, and starts the pods that are bound to them.
//
// # Data flow
//
// The pod informer hands each change to the [queue] of the node that the pod is bound to. A node has one goroutine, which takes pods from the queue and
// has package pod sync one at a time. The registration of a node (its object, its Lease, its CSINode) is written by this goroutine at the start, and by
// one goroutine for all nodes from then on.
//
// The packages below node each have one idea: pod runs a pod, volumes mounts what it mounts, cri decides what its containers do.
//
// # Heartbeats
//
// A node renews its Lease every 10 seconds. A renewal, a beat, is written if that can make a difference: something has
// been written to the cluster since the last beat that was written, a fault is in force, the last write has failed, or a
// client watches Leases. A client that reads a Lease finds the last beat, because it is written before the read
// ([Agent.BeforeRead]). The node lifecycle controller looks every 5 seconds, and gets the last beat from [Agent.Beat]. So an idle node
// writes nothing but its status, every 5 minutes, or each hour in a bubble.
//
// # What always holds
//
//   - A node writes with its own credentials, as user system:node:NAME of the group system:nodes.
//   - All goroutines and timers end when the context of [Start] is done.
//
// # Locks
//
// The queue and the registration of a node have a lock each. Neither is held while the other is taken. node.halting makes one step of stopping both, and of
// resuming them; each of the two locks is taken while it is held. agent.mu guards what WaitReady waits for; the lock of a registration may be taken while it
// is held. No lock is held during a request. Everything else of a node belongs to its goroutine.
package node
