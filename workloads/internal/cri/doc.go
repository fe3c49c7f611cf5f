// Package cri is the container runtime of the nodes of a living cluster, by the name of Kubernetes' own interface for it.
//
// A node asks a [Process] how it does: whether it has exited, whether a probe passes, when that will change. [Programs] decides which program a
// container runs: the function of a [Runtime], a built-in image, the built-in shell, or a simulated process that follows a [Behavior] and what can be
// read from the command. A [Plan] is a behavior for one start of a container, with its random choices made.
package cri
