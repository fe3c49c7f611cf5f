// Package rest is the Kubernetes HTTP API over a store: routing, negotiation and
// one file per verb. Every write goes through the one pipeline of write.go, in
// the order a real server follows.
//
// A Server has no goroutine of its own: all work is done in the call of a
// request, reactions to a write included, before its answer leaves.
//
// Concurrency: a request sees one resource.Catalogue from start to end. A write
// commits only if the object, its definition and its namespace are still the
// ones it was judged by; otherwise it is judged again. No lock is held while a
// request is judged.
package rest
