// Package lifecycle does what follows a commit: it judges the names and
// conditions of definitions, empties definitions and namespaces that are being
// deleted, and lets them go; it checks the types in policies; it migrates stored
// objects to another version; and it collects garbage, the objects whose owners are
// gone.
//
// On a real server controllers do this in the background, some time later. Here
// it is done in the call of the write that gave rise to it, before its answer
// leaves.
//
// A Reactor holds no lock while it writes. Each step is a write of its own
// through the pipeline, made on what the step has read; a step that finds its
// work done does nothing, so that two requests may take the same steps at once.
// Steps are taken in the order they are noted, and the dependents of an owner in
// that of their keys, those first that block its deletion.
//
// When a step is refused, by an admission webhook say, the object stays as it is,
// and the next related write tries again. Definitions and namespaces keep a
// condition that says so. Of the garbage collector, the log says what was refused;
// related is a write of that object, or of an owner that waits for it.
//
// # Garbage collection
//
// It is what a cluster may ask for; without, dependents outlive their owners.
// The rules are those of kube-controller-manager. An object goes when it names
// owners and none of them is there: none of that kind, name and uid in its own
// namespace, or at cluster scope. With an owner that is there it stays, and loses
// the references to those that are not. An owner that is deleted in the foreground
// goes after the dependents that block its deletion; one that orphans goes after
// its dependents have been released. Events are never collected, nor are objects
// at cluster scope that name an owner of a namespaced kind. A reference to a kind
// that is not served keeps its object, until the kind is served. No Events are
// recorded of any of this.
//
// Which objects name which owners stands in a graph that a Reactor keeps beside
// the store. It reads the store's history, so that it does not depend on the
// order in which concurrent writers come to react. An object without owners costs
// two searches through its bytes.
package lifecycle
