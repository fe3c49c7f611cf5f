// Package resource says what is served: a Resource with its Versions, and the
// Catalogue of them.
//
// Verb handlers and the write pipeline know a resource only through these
// types. Whether it is compiled into the server or defined by a
// CustomResourceDefinition shows in the values, never in the handlers.
//
// Invariant: everything reachable from a Catalogue is immutable. A change of
// what is served makes a new Catalogue; a request uses one from start to end.
package resource
