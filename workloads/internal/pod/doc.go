// Package pod runs the pods of a node by a state machine for each pod, in place of the kubelet's pod workers, which
// poll. It uses exported code of the kubelet (conditions, restart rules, reasons of Events, back-off, lifecycle hooks).
//
// A [Node] has the pods of a node and what they share: addresses, static pods, back-offs. A [Pod] is synced after a
// change, or when its timer fires. [Pod.Sync] has the order of the kubelet's SyncPod. A pod has at most one timer, for
// the next due event: a container starts or exits, a probe is due, a back-off ends. A pod that just runs has no timer,
// and costs nothing.
//
// A container runs a process (package cri) and mounts volumes (package volumes). Lifecycle hooks run on goroutines of
// their own, by the kubelet's code (hook.go); the state machine continues when they have ended. Clients of the kubelet's
// API see a copy of the pods: a [View].
//
// # Invariants
//
//   - Writes of one pod are in the order of the kubelet: a status first, then the events of the containers that start.
//   - Random delays depend on the seed and the names of the pod and the container, not on the order of goroutines.
//
// # Locks
//
// A Node and its pods belong to one goroutine, that of package node. A View and the looks into containers have a lock
// each, under which nothing is called.
package pod
