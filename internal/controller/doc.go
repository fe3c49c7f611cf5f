// Package controller has those controllers of kube-controller-manager that keep some objects
// of built-in kinds in line with others, such as Endpoints with Pods, and two of kube-apiserver, for
// FlowSchemas and for what servers of aggregated APIs have to know. Each file is one of them.
//
// Upstream's controllers watch the cluster through informers and work in the background. These
// follow the same rules, and reach the state in which upstream's would come to rest. They are
// keepers of a lifecycle.Reactor: after a commit it asks them what the change concerns, in the
// order of lifecycle.AllControllers, and makes each of them look at that, before the write
// returns. A controller that does not act costs nothing. What depends on time is done when an
// alarm of the reactor goes off.
//
// Unlike upstream's, they record no Events.
//
// # Steps
//
// A controller takes a [step] for each key: it reads, decides and writes. The writes of a step
// commit only if nothing that the step has read has changed meanwhile; otherwise the step is
// taken again. So the order in which concurrent writers react does not matter, and two of them
// may take the same step at the same time: no lock is held, and the last step to commit has
// seen everything.
//
// The writes are requests of the service account that the real controller has, or of kube-apiserver,
// and go through admission like those of any client.
package controller
