// Package rest serves the Kubernetes API over HTTP: a chain of filters, and one file for
// each verb behind it.
//
// # What it exports
//
// Only this module can use the package: [New] takes a cluster of package internal/server, which others cannot
// import. Users start a cluster with package fakecluster.
//
// [New] makes a [Handler], which is an http.Handler. [Options] are about HTTP only: times, limits, headers. A
// client requests an explanation of its write with [ExplainHeader]. [RecoverPanics] is for handlers in front
// of a Handler.
//
// # How a request is served
//
// To follow a create through the code, read these files in this order:
//
//   - filters.go has the filters in the order in which a request passes them: recover, refuse
//     once closed, forbid caching, demand HTTPS, context, path, history, clock, audit, time limit, allowed origins,
//     client CAs, health, authentication, explanation, impersonation, FlowSchema, faults, authorization, functions before reads.
//     Each is a function, in a file named after what it does.
//   - paths.go serves other paths than those of resources (discovery, OpenAPI, the version).
//   - resources.go finds what the path names in the registry. A router finds its verb: route.go where a real server has a route
//     for each verb, onehandler.go where it has one handler for all.
//   - create.go reads the options (query.go) and the body (body.go). write.go makes a write.Request of them and hands it to package
//     write, whose doc.go says how to read on.
//   - compute.go (inTime) runs the pipeline on a goroutine of its own if it may compute for long, so that the request
//     is answered at its deadline all the same.
//   - write.go gets the result, and answer.go writes what package view makes of it.
//
// handler.go puts a Handler together. view.Status is the one place where an error becomes a Status, which status.go sends. unknown.go
// has the answers to requests that find nothing.
//
// Everything without HTTP is in package internal/server: the kinds that are served, admission, the history,
// faults, and the server's own controllers. These controllers write in the same way as the verbs, within the
// call of the write that causes theirs, before its response is sent. So nothing runs
// in the background. Methods of a cluster for tests do not go through a Handler: package internal/server/console reads the
// cluster.
//
// Filters and verbs report each stage of a request to its observe.Request, which is in the context. The
// package internal/observe lists the stages. The history, the explanation and the audit event take them from
// there. Only metrics.go counts responses itself: it counts what a handler responds, even if a fault keeps
// that from the client.
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
//   - A request is answered at its deadline. A computation that has not ended by then goes on, but does not
//     change the answer and commits nothing.
//   - The audit event of a request is recorded before the end of its answer is sent.
//   - Two clusters, such as a fork and its origin, share nothing mutable that a client could see. They share
//     records, compiled definitions and caches whose keys are contents and whose values follow from their
//     keys (see package resource).
//
// # Locks
//
// No lock is held while a request is processed, while a webhook is called or while an answer
// is written. The mutexes, such as those of audit events, of warnings and of counters, are held for a
// few statements each, and never two at a time. The messages about unsupported requests and the audit log are
// written under a mutex each.
package rest
