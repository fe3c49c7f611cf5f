// Package plugins runs the admission plugins that are compiled into kube-apiserver, by
// upstream's own code; storage.go has the two exceptions.
//
// Upstream's plugins look at the cluster through informers, which watch it in the background.
// Here they are given informers that hold nothing and look into the store when they are
// asked, so that a plugin knows of every write that was answered before. A cluster makes its
// plugins when the first write of a built-in kind comes.
//
// Most plugins judge objects of built-in kinds, in upstream's internal types; a few judge objects
// of all kinds. Some plugins are in other packages: NamespaceLifecycle in package admission,
// policies and webhooks in packages of their own. A [Options] says which plugins are on, in whatever
// package, by the names of kube-apiserver's flags; order.go has all names, in the order of a real
// server.
//
// ResourceQuota is not a Plugin, because a write commits together with what quotas are
// charged for it, see package write. [Quotas] does what upstream's plugin and
// resourcequota-controller do: it measures what an object uses, and what is used of a quota.
package plugins
