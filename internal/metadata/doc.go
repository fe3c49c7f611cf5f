// Package metadata checks the metadata of unstructured objects without reading it into an
// ObjectMeta: whether it is canonical, so that reading it and writing it back would change
// nothing, and whether it is valid.
//
// A check returns true only where upstream's libraries do; false means that only upstream's
// library can decide. For example, Kubernetes validates the name of an owner by regular expressions;
// IsSubdomain looks at its letters, and calls upstream only for unusual names.
//
// [Of] and [Get] find the metadata in the JSON of an object.
package metadata
