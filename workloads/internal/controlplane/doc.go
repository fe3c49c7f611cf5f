// Package controlplane runs the controllers of kube-controller-manager and kube-scheduler, by Kubernetes' own code, as
// clients of a cluster.
//
// A controller is a row of the table (table.go) and a function in the file of its group, which makes it with the default
// arguments of kube-controller-manager. It acts as its ServiceAccount in kube-system, as with the flag
// --use-service-account-credentials, and so needs the permissions of the ClusterRoles system:controller:…. All
// controllers and the scheduler, which acts as system:kube-scheduler, share the informers.
//
// # Invariants
//
//   - All goroutines end when [Controllers.Wait] and [Scheduler.Wait] return, so that a control plane works in a testing/synctest bubble.
//   - A control plane at rest costs next to nothing, also in a virtual day: the watches of informers do not end and
//     have no bookmarks (informers.go), the scheduler's recorders of metrics are ended (scheduler.go), the node lifecycle
//     controller pauses while all nodes are well (pauses.go), work queues have no metrics (package processwide).
//   - A panic of a controller ends the goroutine that it happens on, and is reported with the controller's
//     name and the stack (panics.go). It does not end the process.
//
// # Locks
//
// The pauses of the node lifecycle controller, the load balancers of the cloud and the
// list of running controllers have a mutex each. While one is held, nothing waits, and no other lock is taken.
package controlplane
