// Package cri is the container runtime of the nodes of a living cluster, named after Kubernetes' interface for it.
//
// A node asks a [Process] for its state: whether it has exited, whether a probe passes, when that will change.
// [Programs] decides which program a container runs: the function of a [Runtime], a built-in image, the built-in shell,
// or a simulated process that follows a [Behavior] or its command line. A [Plan] is a behavior for one start of a
// container, with its random choices made.
package cri
