// Package node runs the nodes of a living cluster: it registers Node objects, renews their Leases, and starts the pods that are bound to them.
//
// # Data flow
//
// The pod informer passes each change to the [queue] of the pod's node. A node has one goroutine, which takes pods from
// the queue and syncs them one at a time (package pod). This goroutine writes the registration of the node (its object,
// its Lease, its CSINode) at the start; later one goroutine does so for all nodes.
//
// Package pod runs a pod, volumes mounts its volumes, and cri decides what its containers do.
//
// # Heartbeats
//
// A node renews its Lease every 10 seconds. A renewal, called a beat, is written only if it can make a difference:
// something was written to the cluster since the last written beat, a fault is in force, the last write has failed, or a
// client watches Leases. A client that reads a Lease finds the last beat, because it is written before the read
// ([Agent.BeforeRead]). The node lifecycle controller, which looks every 5 seconds, gets the last beat from
// [Agent.Beat]. So an idle node writes only its status, every 5 minutes, or every hour in a bubble.
//
// # Invariants
//
//   - A node writes with its own credentials, as user system:node:NAME of the group system:nodes.
//   - All goroutines and timers end when the context of [Start] is done.
//
// # Locks
//
// The queue and the registration of a node have a lock each. Neither is held while the other is taken. node.halting
// makes stopping both, or resuming both, one step: it is held while each of the two is taken. agent.mu guards the state
// of WaitReady; a registration's lock may be taken while it is held. No lock is held during a request. Everything else
// of a node belongs to its goroutine.
package node
