// Package admission changes and rejects writes, apart from validation. It has the namespace
// lifecycle, and a Chain of Plugins: the webhooks and policies that are stored
// in the cluster, and the Go functions of a test.
//
// # A write
//
// A plugin gets a [Write]. It implements upstream's admission.Attributes and
// admission.ObjectInterfaces, so that upstream's libraries accept it, and it has the Cluster.
// Its object is the one that the pipeline continues with, in the form that the kind's strategy
// works on: a map for a custom resource, a Go type for a built-in kind, the internal type for
// a CustomResourceDefinition. To show the object in a version, for example to a webhook, a
// plugin calls upstream's NewVersionedAttributes(write, kind, write). To change the object, it
// calls [Write.Replace] with the changed version.
//
// As upstream, Mutate and Validate get different Writes. In the second, an object that is
// created with generateName has its name. A delete has only the old object, and Validate
// follows Mutate at once. An update of the scale subresource has Scales as its objects.
//
// # The chain
//
// A [Chain] calls its plugins in the order of the real server: those that are compiled in,
// policies, webhooks, then functions. Quotas come after them, in the commit, see package write;
// one of those that are compiled in comes before the lifecycle of namespaces, and another one
// last. If a plugin requests it through the reinvocation context, the Chain calls Mutate of all
// of them a second time.
//
// A Chain is immutable. When a write has changed an object of the group
// admissionregistration.k8s.io, the server makes a new Chain before it answers that write.
// Each write uses one Chain from its start to its end. Each plugin is made by one function of
// its package,
//
//	New(was admission.Plugin, records ...[]store.Record) (admission.Plugin, error)
//
// New gets the stored objects of each of its kinds, in the order of their names, and the plugin
// that it returned last, or nil. It reuses what the last plugin compiled from a record of the same
// key and revision. It returns nil if there is nothing to call. The plugin must not refer to the
// server, because the forks of a cluster share it; it reads the Cluster of the Write instead. New
// does not fail for a stored object that cannot be compiled: the plugin treats it as the real
// server does.
//
// The Chain of a cluster without configuration is Empty, and then no Write is made.
package admission
