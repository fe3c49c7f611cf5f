// Package controller has the controllers of the API server itself, and those of kube-controller-manager that act within
// a write. On a real server controllers work in the background, some time after a write. Here the write
// that concerns them does their work before its answer leaves. Deleting a namespace with one ConfigMap,
// for example, is five writes: the namespace is Terminating, the ConfigMap is deleted, the
// conditions of the namespace say that nothing is left, its finalizer is removed, and it is
// gone.
//
// A controller is one file and one row of the table (table.go). It has
//
//   - an identity (identity.go): user, field manager, user agent, and the version that it writes in;
//   - the kinds that it follows. For each change of such an object, concerns enqueues the keys that the
//     controller has to sync. In most cases a key is an object, by its namespace and name;
//   - a sync function, which reads what a key means and writes what is missing.
//
// # The queue
//
// queue.go is all of the machinery. [Controllers.Committed] is called after each commit. It has the
// controllers enqueue keys, in the order of the table, and syncs one key after the other. The writes of a sync
// are committed in turn; they add to the queue of the write under way, so that nothing is done recursively. A
// controller that does not act costs nothing. What is due at a known time is synced by an alarm (alarm.go).
//
// # Steps
//
// A sync is a [step]: it reads, decides and writes. Its writes commit only if nothing that the step has read
// (find, all, copyOf, definition) has changed meanwhile; otherwise the step is taken again, up to
// maxAttempts times. So the order in which concurrent writers come does not matter, and two of them may take the
// same step at the same time: no lock is held, and the last step to commit has seen everything. What is read by
// records is not among these conditions, because each change of these objects enqueues the key again.
//
// The writes are requests of the controller's identity, and go through admission like those of any client. A step
// is detached from the client's cancellation, and ends with the server. When a write is refused, for example by an
// admission webhook, the object stays as it is, Server.Report reports it (in the log of the test, if the cluster
// belongs to one), and the next related write tries again. Definitions and namespaces also have a condition that says so.
//
// Unlike upstream's, the controllers record no Events.
//
// # Garbage collection
//
// The rules are those of kube-controller-manager:
//
//   - An object is deleted when it names owners and none of them exists. An owner exists if
//     there is an object of that kind, name and uid, in the object's namespace or at cluster
//     scope.
//   - An object with an owner that exists stays, and loses the references to those that do
//     not.
//   - An owner that is deleted in the foreground goes after the dependents that block its
//     deletion. One that orphans its dependents goes after they have lost their reference.
//   - Events are never collected, nor are cluster-scoped objects that name an owner of a
//     namespaced kind.
//   - While the kind of an owner is not served, its dependents stay.
//
// A graph beside the store (graph.go) has which objects name which owners. It reads the history of the
// store, so it does not depend on the order in which the commits of concurrent writers are followed. For an object
// without owners it costs two searches through the object's bytes.
//
// # Locks
//
// The graph has a mutex. While it is held, the graph reads the store, which takes the locks
// of the store; it does not write or wait. The alarms have another mutex, which is held for a
// look-up only. There is no other lock.
package controller
