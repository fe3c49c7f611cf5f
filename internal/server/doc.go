// Package server is the API server without HTTP: the served kinds, admission, the write pipeline over the store, the
// server's own controllers, and the history. Package rest serves it over HTTP, and package console has what a test can
// do with it.
//
// # The parts
//
// cluster.go creates the parts, each from earlier ones. Each part uses the cluster through an interface:
//
//   - state.go reads objects for admission (admission.Cluster).
//   - loopback.go reads and writes as the server itself, like the loopback client of kube-apiserver. kinds.go gives the
//     code of built-in kinds access to the cluster (builtin.Cluster), plugins.go the admission plugins
//     (plugins.Cluster).
//   - aroundcommit.go has what the pipeline calls around a commit (write.Server): before it the quotas, and after it what
//     follows, above all the controllers (package controller).
//
// Writes call the controllers, and the controllers write. So neither holds the other: the loopback, which is made after
// both, is an argument of each write, and hands itself to the controllers after a commit.
//
// registry.go keeps the served kinds up to date with the definitions in the store, and admission.go keeps the chain of
// admission up to date with policies and webhooks. hooks.go has the clients of webhooks. access.go authorizes requests, compaction.go makes old lists
// expire, and reads.go has functions that are called before a read.
//
// # Writes of the server itself
//
// A write of the server's own controllers is like one of a client: it passes the same
// pipeline, and it is in the history and in the audit events (log.go). The controllers
// write within the call of the write that they react to, before its response is sent. Only
// controllers that wait for a time have a timer.
//
// # Locks
//
// No lock is held while a write is admitted and validated, or while a webhook is called. The registry and the chain
// of admission are immutable values that are swapped atomically. Messages, and the lines of the audit log, are written under a
// mutex each.
package server
