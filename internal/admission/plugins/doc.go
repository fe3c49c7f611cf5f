// Package plugins runs the admission plugins that are compiled into kube-apiserver, by
// upstream's own code; storage.go has the two exceptions.
//
// Upstream's plugins read the cluster through informers, which watch it in the background. Here their informers read the
// store at each call, so that a plugin sees every earlier write. A cluster creates its plugins at the first write of a
// built-in kind.
//
// Most plugins apply to objects of built-in kinds, in upstream's internal types; a few apply to objects of all kinds.
// Some plugins are in other packages: NamespaceLifecycle in package admission, policies and webhooks in packages of
// their own. [Options] has which plugins of all packages are on, by the names of kube-apiserver's flags; order.go has
// the table of all plugins, in the order of a real server.
//
// ResourceQuota is not a Plugin, because a write commits together with its charge of quotas, see package quota.
package plugins
