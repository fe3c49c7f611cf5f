// Package metadata tells of the metadata of unstructured objects what reading it into an
// ObjectMeta would tell, without doing so: that it is in the one form that writing it
// back would give, and that it is valid.
//
// A check says yes only where upstream's libraries do, and its no means that it cannot
// tell. For example, Kubernetes validates the name of an owner by regular expressions;
// IsSubdomain looks at its letters, and asks upstream only about unusual names.
package metadata
