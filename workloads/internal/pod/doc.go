// Package pod runs the pods of a node, as the kubelet's workers do: a state machine for each pod in their place, because they poll. It is made of
// the parts of the kubelet that are exported (conditions, restart rules, reasons of events, back-off, lifecycle hooks).
//
// A [Node] has the pods of a node and what they share: addresses, static pods, back-offs. A [Pod] is synced when something has happened to it, or
// when its timer has ended. [Pod.Sync] reads from top to bottom in the order of the kubelet's SyncPod. A pod has at most one timer, for the next moment
// at which something happens by itself: a container starts or exits, a probe is due, a back-off ends. A pod that just runs has none, and costs nothing.
//
// What a container does is a process (package cri); what it mounts are volumes (package volumes). Lifecycle hooks run on goroutines of their own, by the
// kubelet's code (hook.go); the state machine goes on when they have ended. What clients of the kubelet's API see of pods is a copy: a [View].
//
// # What always holds
//
//   - Writes of one pod are in the order of the kubelet: a status first, then the events of the containers that start.
//   - Random delays follow from the seed and the names of the pod and the container, not from the order of goroutines.
//
// # Locks
//
// A Node and its pods belong to one goroutine, that of package node. A View, and the wishes to look into containers, have a lock each, under which
// nothing is called.
package pod
