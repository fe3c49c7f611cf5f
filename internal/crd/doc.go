// Package crd turns a CustomResourceDefinition into a resource.Resource: the
// kind CustomResourceDefinition itself, the judgement of its names and
// conditions, and what its custom objects go through (schemas, strategies,
// conversion). A definition is stored in v1, in whichever version it was written.
//
// The rules are those of k8s.io/apiextensions-apiserver, whose libraries this
// package calls for all that they publish. What a definition compiles to is
// immutable and shared by every request and every fork.
package crd
