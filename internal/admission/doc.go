// Package admission holds what may change or refuse a write beside validation:
// the namespace lifecycle, and a Chain of Plugins that the stored configuration of
// the cluster and the test's own functions make.
//
// # A write
//
// A [Write] is what a plugin is given: upstream's admission.Attributes and
// admission.ObjectInterfaces, so that its libraries take it as it is, and the
// Cluster. The object in it is the one that the pipeline goes on with. It is what
// the kind's strategy works on: a map for a custom resource, a Go type for a
// built-in one, the internal type for a CustomResourceDefinition. A plugin
// that shows it to somebody gets it in a version with
// upstream's NewVersionedAttributes(write, kind, write), and hands what it has
// made of that back by [Write.Replace].
//
// Mutate and Validate get a Write of their own each, as upstream has it; a create
// without a name has one in the second. A delete has the old object alone, and
// both phases follow each other. An update of the scale subresource has Scales.
//
// # The chain
//
// A [Chain] asks its plugins in the order of the real server: policies, webhooks,
// then functions. In the first phase it asks them all once more if one of
// them requested it through the reinvocation context.
//
// A Chain is immutable. The server compiles it anew when a commit has touched an
// object of the group admissionregistration.k8s.io, before the answer of that
// write leaves, and swaps it in; a write sees one chain from its start to its end.
// Each plugin is made by one function of its package,
//
//	New(was admission.Plugin, records ...[]store.Record) (admission.Plugin, error)
//
// which is given the stored objects of each of its kinds, in the order of their
// names, and what it made of them last (nil: nothing yet): what it compiled of a
// record of the same key and revision it takes over. It returns nil if there is
// nothing to ask. The plugin must hold nothing of the server, because the forks of a
// cluster share it; what it needs of the server it asks the Write's Cluster for. An
// object that cannot be compiled is the plugin's to deal with as the real server
// does: it is stored, and New does not fail for it.
//
// A cluster without configuration has a Chain that is Empty, and a write then
// makes no Write.
package admission
