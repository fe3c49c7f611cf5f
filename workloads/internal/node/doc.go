// Package node runs the nodes of a living cluster: it registers Node objects, renews their Leases, and runs the pods
// that are bound to them as a kubelet would. What runs in a container is a behavior, or a runtime's code.
//
// The package is made of the parts of the kubelet that are exported (conditions, restart rules, event reasons,
// back-off, the event correlator) and of our own state machine in place of the kubelet's workers, which poll.
//
// # Data flow
//
// The pod informer hands each change to the node that the pod is bound to. A node has one goroutine. It keeps a set of
// pods that have something to do, and syncs one at a time: see pod.sync, which reads from top to bottom in the order of
// the kubelet's SyncPod. A pod has at most one timer, for the next moment at which something happens by itself: a
// container starts or exits, a probe is due, a back-off ends. A pod that just runs has none, and costs nothing.
//
// What a container does is a [Process]. The processes of this package follow a [Behavior]. Other runtimes implement
// [Runtime], for example containers that are Go functions.
// Lifecycle hooks run on goroutines of their own, by the kubelet's code (hook.go); the state machine goes on when they have
// ended. What clients of the kubelet's API see of pods is a copy (shown.go).
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
//   - Writes of one pod are in the order of the kubelet: a status first, then the events of the containers that start.
//   - Random delays follow from the seed and the names of the pod and the container, not from the order of
//     goroutines.
//   - All goroutines and timers end when the context of [Start] is done.
//
// # Locks
//
// node.mu guards the set of pods with something to do and the switches that users turn. It is never held during
// a request. agent.mu guards what WaitReady waits for; node.mu may be taken while it is held. Everything else of a node and its
// pods belongs to the goroutine of the node.
package node
