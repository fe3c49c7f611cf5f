// Package processwide changes global settings of Kubernetes' libraries that do not work in a testing/synctest bubble, or
// cost a living cluster too much time. Importing it has these effects:
//
//   - Errors that Kubernetes' controllers handle without a context are not logged, because the log would be that of the
//     process. Most of them are conflicts, which the controllers try again.
//   - Work queues have no metrics. With metrics, each queue wakes every 500 ms for as long as it exists; a living
//     cluster has some sixty of them.
//   - The goroutine of package os/signal runs. The scheduler's debugger starts it otherwise, in the bubble of the first
//     scheduler, where it would never block durably.
//
// Go initializes packages in the order of their import paths, each as soon as all its imports are initialized. So this
// package, which imports little, comes before k8s.io/component-base, whose metrics of queues would otherwise be used:
// only the first call of workqueue.SetProvider has an effect.
package processwide
