// Package fakecluster is a Kubernetes API server for Go tests, in the test's own
// process: real HTTP, real validation, real watches, in milliseconds.
//
//	func TestMyOperator(t *testing.T) {
//		c := fakecluster.Start(t, fakecluster.WithCRDPaths("config/crd"))
//		client, err := dynamic.NewForConfig(c.RESTConfig())
//		...
//	}
//
// [Start] is for tests: the cluster ends with the test, and an error fails the test. [New]
// is for programs, examples and TestMain: it returns errors, and the caller closes the
// cluster.
//
// # Behaviour
//
// The cluster answers as kube-apiserver 1.37 does: with the same status codes, messages, warnings, defaults
// and watch events. A request for something that it does not support fails with an error that names it.
// docs/features.md in the repository lists what is supported.
//
// The work that follows a write is done when the write returns. A definition is established
// and served when its POST returns, and a namespace is empty and gone when its DELETE
// returns. There is nothing to wait for. The dependents of a deleted object stay, because on
// a real cluster kube-controller-manager deletes them and not the API server; with
// [WithControllers] and the [GarbageCollector] they are gone when the DELETE of their owner returns.
//
// # Users
//
// [Cluster.RESTConfig] is for the administrator, who may do everything. [Cluster.ConfigFor] is for any other
// user and [Cluster.ServiceAccountConfig] for a service account. These users may do what the Roles that are
// bound to them allow, as on a real server with RBAC, so a test can run an operator under the Role that it
// has in production. [WithAuthorization] turns that off. [Cluster.CheckRole] fails a test if the manifests of
// a Role do not allow all requests of a user. A user may impersonate others if a Role allows it.
//
// # What has happened
//
// A cluster records what happens in it. [Cluster.Requests] lists the requests with their results,
// [Cluster.History] the states of an object, each with its writer and its changes, and
// [Cluster.ObjectAt] returns an object at an earlier revision. The records distinguish programs by their user
// agents (rest.Config.UserAgent), and by their users.
//
// When a test of [Start] or [Cluster.Fork] fails, its log shows possible reasons in at most 60 lines: rejected
// requests, conflicts, objects that changed without end, and more. It contains requests only, not the errors
// that a Reconciler returns. With the environment variable FAKECLUSTER_REPORT=DIR, each failed test also
// writes a page for a browser into this folder: a timeline of requests, and objects with their revisions and
// Events. A relative path is below the folder of the package, because go test runs each package in its folder.
//
// [Cluster.WaitFor] waits until an object meets a condition: one in its status, a Go function, or an
// expression in CEL. [Cluster.Settle] waits until clients have nothing more to do, [Cluster.Stats] counts their
// requests, and [Cluster.CheckBudget] fails a test if these exceed a budget.
//
// # Faults
//
// [Cluster.Inject] makes requests go wrong: answers with an error, latency, connections that break before or
// after a write is made, watches that break, lag or expire, stale reads, refusals of admission, webhooks that
// cannot be reached. A [faults.Fault] selects the requests that it strikes, and how often. A fault that never
// strikes fails the test, unless it is Optional.
//
// [Cluster.Hold] holds back the events of all watches until the test delivers them.
//
// # Isolation and concurrency
//
// Any number of clusters run side by side in a process. They share caches of what is compiled
// from the same content, such as a definition or a CEL expression, and nothing that a test
// can see change. [Cluster.Fork] copies a running cluster.
//
// All methods of a Cluster are safe for concurrent use. Nothing happens in the background: all
// work is done in the call of a request. The exceptions are timers:
// [ResourceQuotaController] sets one for a Pod with a quota that is being deleted, and for a quota whose
// status another client has written, and [FsyncEverySecond] one after a write. With [InProcess] everything works inside a
// testing/synctest bubble, by the bubble's clock.
package fakecluster
