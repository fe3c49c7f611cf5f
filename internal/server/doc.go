// Package server is the API server without HTTP: the kinds that are served, admission, the write
// pipeline over the store, and the server's own controllers. Package rest puts HTTP before it.
//
// # The parts
//
// cluster.go puts the parts together. Each part sees the cluster by what it asks of it:
//
//   - state.go reads objects for admission (admission.Cluster).
//   - kinds.go is what the code of built-in kinds works on (builtin.Cluster), plugins.go what the
//     admission plugins work on (plugins.Cluster).
//
// registry.go and admission.go keep what is served, and what evaluates writes, up to date with what
// the store says. hooks.go has the clients of webhooks. aftercommit.go has what follows a commit, above all
// the controllers (package controller).
//
// # Writes of the server's own
//
// A write of one of the server's own controllers is like one of a client: it passes the same
// pipeline, and it is in the history and the audit trail (Log). Such
// writes are made in the call of the write that they follow from, before its answer leaves. Only
// controllers that wait for a time have a timer.
//
// # Locks
//
// No lock is held while a write is admitted and validated, or while a webhook is called. The registry and the chain
// of admission are immutable values that are swapped atomically.
package server
