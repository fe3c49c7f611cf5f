// Package builtin makes the Resources of the kinds that Kubernetes ships.
//
// Most kinds are entries of a table: their names and scope, the versions that they are served
// in, what their strategy adds to the rules of metadata, their columns and selectable fields.
// Namespaces have a file of their own, and so do the reviews, which answer a question and store
// nothing. Objects are the Go types of k8s.io/api, so what this package knows of a kind is
// defaulting, validation and the conversion between versions.
//
// A call makes new Resources, which are immutable from then on and share nothing but the
// scheme. The package has no locks.
package builtin
