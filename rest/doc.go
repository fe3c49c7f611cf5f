// Package rest serves the Kubernetes API over HTTP: a chain of filters, and one file for
// each verb behind it.
//
// # What it exports
//
// The package is for this module only: [New] takes a cluster of package internal/server, which others cannot import. Users start a cluster with
// package fakecluster.
//
// [New] makes a [Handler], an http.Handler and nothing else. [Options] are about HTTP only:
// times, limits, headers. A client requests explanations with [ExplainHeader], and [RecoverPanics] protects handlers in front of
// a Handler.
//
// # The way of a request
//
// A create can be read in this order:
//
//   - filters.go has the filters in the order in which a request passes them: recover, refuse
//     once closed, forbid caching, demand HTTPS, context, path, history, clock, audit, time limit, allowed origins,
//     client CAs, health, authentication, explanation, impersonation, FlowSchema, faults, authorization, functions before reads.
//     Each is a function, in a file named after what it does.
//   - paths.go separates resources from other paths (discovery, OpenAPI, the version).
//   - resources.go finds what the path names in the registry. A router finds its verb: route.go where a real server has a route
//     for each verb, onehandler.go where it has one handler for all.
//   - create.go reads the options (query.go) and the body (body.go). write.go makes a write.Request of them and hands it to package
//     write, whose doc.go says how to read on.
//   - compute.go decides whether the pipeline runs on a goroutine of its own. It does if it may
//     compute for long, so that the request is answered at its deadline all the same.
//   - write.go gets the result, and answer.go writes what package view makes of it.
//
// handler.go puts a Handler together. view.Status is the one place where an error becomes a Status, which status.go sends. unknown.go
// has the answers to requests that find nothing.
//
// What is behind HTTP is in package internal/server: the kinds that are served, admission, the history, faults, and the server's
// own controllers. They make the same writes as the verbs, in the call of the write that they follow
// from, before its answer leaves: a Handler has no goroutine of its own. What a test asks a cluster does not pass a Handler: package
// internal/server/console reads the cluster.
//
// Filters and verbs report each stage of a request to its observe.Request, which is in the context. The package
// internal/observe lists the stages. The history, the explanation and the audit event take them from there.
// Only metrics.go counts the responses itself, because it counts what a handler responds, and a fault may
// withhold that from the client.
//
// # Invariants
//
//   - A request sees one resource.Registry from its start to its end, unless its write is
//     tried again because the definition of the kind has changed.
//   - A verb does not depend on whether a kind is built in. What differs is in fields of
//     resource.Resource and resource.Version, and in the two routers.
//   - A verb that returns an error has sent no part of an answer: the caller answers with
//     the Status of the error. The store may have changed all the same, for example if
//     the answer cannot be encoded after the commit.
//   - A request is answered at its deadline, whatever its computation does. What computes on then
//     does not reach the answer and commits nothing.
//   - The audit event of a request is recorded before the end of its answer leaves.
//   - Two clusters share nothing that a client could see change, so that a fork and its
//     origin do not see each other. They share records, compiled definitions and caches by
//     content. What these remember follows from their content (see package resource).
//
// # Locks
//
// No lock is held while a request is processed, while a webhook is called or while an answer
// is written. The mutexes, such as those of audit events, of warnings and of counters, are held for a
// few statements each, and never two at a time. The messages about unsupported requests and the audit log are
// written under a mutex each.
package rest
