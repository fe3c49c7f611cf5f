// Package inspect has what a cluster says of one write: an [Explanation]. It is made by
// Cluster.Explain of package fakecluster, and by a server whose client asks for it in a header.
//
// An explanation goes through the stages of a write in their order: may the user send it; what of
// the object was pruned and defaulted; who owns a field that an apply may not take; what each
// plugin, policy and webhook answered; what the kind itself changed; what the schema and its CEL
// rules found; and what became of the object.
package inspect
