// Package controller has the controllers of the API server itself, and those of kube-controller-manager that act within
// a write. On a real server controllers work in the background, some time after a write. Here a write calls them before
// its response is sent. For example, deleting a namespace with one ConfigMap is five writes: the namespace becomes
// Terminating, the ConfigMap is deleted, the conditions of the namespace show that nothing is left, its finalizer is
// removed, and it is deleted.
//
// A controller is one file and one row of the table (table.go). It has
//
//   - an identity (identity.go): user, field manager, user agent, and the version that it writes in;
//   - the kinds that it follows. For each change of such an object, concerns enqueues the keys that the
//     controller has to sync. In most cases a key is an object, by its namespace and name;
//   - a sync function, which reads the objects of a key and writes what is missing.
//
// # The queue
//
// queue.go has the machinery. [Controllers.Committed] is called after each commit, with the [Writer] that carries out the
// writes of the controllers. It calls the controllers, in the order of the table, to enqueue keys, and syncs one key
// after the other. The commits of a sync add to the same queue, so that there is no recursion. A controller that does not
// act costs nothing. An alarm syncs a key at a known time (alarm.go).
//
// # Steps
//
// A sync is a [step]: it reads, decides and writes. Its writes commit only if nothing that the step has read (find,
// list, copyOf, definition) has changed meanwhile; otherwise the step is repeated, up to maxAttempts times. So the order
// of concurrent writers does not matter, and two of them may take the same step at the same time: no lock is held, and
// the last step to commit has read everything. Reads by records are not among these conditions, because each change of
// these objects enqueues the key again.
//
// The writes are requests of the controller's identity, and go through admission like those of any client. A step is
// detached from the client's cancellation, and ends with the server. When a write is rejected, for example by an
// admission webhook, the object does not change, Server.Report reports the error (in the log of the test, if the cluster
// belongs to one), and the next related write tries again. Definitions and namespaces also get a condition.
//
// Unlike upstream's, the controllers record no Events.
//
// # Garbage collection
//
// The rules are those of kube-controller-manager:
//
//   - An object is deleted when it has owner references and none of the owners exists. An owner exists if
//     there is an object of that kind, name and uid, in the object's namespace or at cluster
//     scope.
//   - An object with an existing owner stays, and loses the references to the others.
//   - An owner that is deleted in the foreground is removed after the dependents that block its deletion, and one that
//     orphans its dependents after they have lost their references.
//   - Events are never collected, nor are cluster-scoped objects that name an owner of a
//     namespaced kind.
//   - While the kind of an owner is not served, its dependents stay.
//
// A graph beside the store (graph.go) has the owner references of all objects. It reads the history of the store, so it
// does not depend on the order in which controllers handle the commits of concurrent writers. An object without owners
// costs two searches through its bytes.
//
// # Forks and restarts
//
// A fork, a restored snapshot and a server over an existing data file may begin between a write and what follows from
// it. A controller completes that in Resume: by what it always looks up (begins, resume), and by what it looks up only if
// commits may not be handled (catchUp). For a fork of a cluster at rest the latter is skipped (write.Activity).
//
// A fork does not inherit what the memory of the origin has beside the store, except the graph: it sets its own alarms,
// and measures all quotas.
//
// # Locks
//
// The graph has a mutex. While it is held, the graph reads the store, which takes the locks of the store; it does not
// write or wait. The alarms have another mutex, which is held for lookups only. There is no other lock.
package controller
