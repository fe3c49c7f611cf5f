// Package admission has the namespace lifecycle, and the Chain of admission plugins: compiled-in plugins, policies and
// webhooks in the store, and Go functions of a test.
//
// # A write
//
// A plugin gets a [Write]. It implements upstream's admission.Attributes and admission.ObjectInterfaces, so that
// upstream's libraries accept it, and it has the Cluster. Its object is the one with which the pipeline continues, in
// the form of the kind's strategy: a map for a custom resource, upstream's internal type for a built-in kind and a
// CustomResourceDefinition. To show the object in a version, for example to a webhook, a plugin calls upstream's
// NewVersionedAttributes(write, kind, write). To change the object, it calls [Write.Replace] with the changed version.
//
// As upstream, Mutate and Validate get different Writes. In the second, an object with generateName has its name. A
// delete has only the old object, and Validate follows Mutate at once. An update of the scale subresource has Scales as
// its objects.
//
// # The chain
//
// A [Chain] calls its plugins in the order of the real server: compiled-in ones, policies, webhooks, then functions.
// Quotas follow in the commit, see package write. One compiled-in plugin is called before the namespace lifecycle, and
// another one last. If a plugin requests it through the reinvocation context, the Chain calls Mutate of all of them a
// second time.
//
// A Chain is immutable. When a write has changed an object of the group admissionregistration.k8s.io, the server creates
// a new Chain before it answers that write. Each write uses one Chain from its start to its end. Each package has a
// function that creates its plugin,
//
//	New(former admission.Plugin, records ...[]store.Record) (admission.Plugin, error)
//
// New gets the stored objects of each of its kinds, sorted by name, and the plugin that it returned last, or nil. It
// reuses what the last plugin compiled from a record with the same key and revision. It returns nil if there is nothing
// to call. The plugin must not refer to a server, because forks share it; it uses the Cluster of the Write. New does not
// fail for a stored object that cannot be compiled: the plugin treats it as the real server does.
//
// The Chain of a cluster without configuration is Empty; no Write is created for it.
package admission
