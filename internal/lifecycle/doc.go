// Package lifecycle does what follows a commit. It judges the names and conditions of
// definitions, empties definitions and namespaces that are being deleted, checks the types in
// policies, migrates stored objects to another version, keeps an APIService for each version of
// a definition, finds out whether the servers of APIServices answer, measures what is used of
// quotas, and collects garbage: objects whose owners are gone. It also calls keepers, which are
// further controllers (see package controllers), and has alarms for what is due when time has
// passed.
//
// On a real server controllers do this in the background, some time later. Here the write
// that causes it does it, before its answer leaves. Deleting a namespace with one ConfigMap,
// for example, is five writes: the namespace is Terminating, the ConfigMap is deleted, the
// conditions of the namespace say that nothing is left, its finalizer is removed, and it is
// gone.
//
// A [Reactor] holds no lock while it writes. Each step is a write of its own through the
// pipeline, based on what the step has read. A step that finds its work done does nothing, so
// two requests may take the same step at the same time. Steps are taken in the order in which
// they were noted. The dependents of an owner are looked at in the order of their keys, and
// those that block its deletion first.
//
// When a step is refused, for example by an admission webhook, the object stays as it is, and
// the next related write tries again. Definitions and namespaces have a condition that says
// so. What the garbage collector or a keeper could not do is logged, in the log of the test if
// the cluster belongs to one. Related are the writes of that object; for the collector, those
// of an owner that waits for it; for a keeper, those of all that it follows.
//
// # Garbage collection
//
// A cluster collects garbage only if it was asked to. The rules are those of
// kube-controller-manager:
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
// Unlike kube-controller-manager, it records no Events.
//
// A graph beside the store holds which objects name which owners. It reads the history of the
// store, so it does not depend on the order in which concurrent writers come to react. For an
// object without owners it costs two searches through the object's bytes.
//
// # Quotas
//
// The commit of an object also brings its quotas up to date, see package write: a create or an
// update charges them, an update or a delete releases them. What is left for
// resourcequota-controller is to write into the status of a quota what its spec limits, and to
// measure the quota again, by the objects that there are, whenever adding and subtracting is not
// enough: if somebody else has written to the quota, if it limits devices, if a namespace is emptied or
// a definition deleted, when the grace period of a pod is over. A status that somebody else has written
// stays until then, or until five minutes have passed.
//
// A measurement ends when it has written the status and nobody else has written meanwhile, or when
// it finds the status right and nobody has changed it since it was read. This is enough, although
// objects come and go meanwhile: each of them changes the quota in its commit, or has a
// measurement of its own, which comes after it.
//
// # Locks
//
// The graph has a mutex. While it is held, the graph reads the store, which takes the locks
// of the store; it does not write or wait. The alarms have another mutex, which is held for a
// look-up only. There is no other lock.
package lifecycle
