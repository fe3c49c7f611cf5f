// Package observe passes the events of a request to the history, the explanation and the audit event.
//
// A [Request] is one value that travels with a request, from the filters of package rest to the commit. It is in the
// context ([From]), and each stage calls the method with its name. The Request passes the event to its subscribers:
//
//	stage               where it is called                 history  explanation  audit event
//	User, Impersonated  authenticate, authorize            x        x            x
//	Decision            authorize                                   x            x
//	Fault               faults, calls of webhooks          x        x
//	Deprecated          the version is found                                     x
//	Body, Decoded       the body is read                   x        x
//	Object, Patch       the body is accepted                                     x
//	Attempt             write.Pipeline.Run                          x
//	Merged, Patched     patch, apply                                x
//	Webhook             admission                          x        x
//	Step, Denied        admission                                   x
//	Annotation          admission                                   x            x
//	Overtaken           the resourceVersion is checked     x        x
//	Preparing, Prepared the strategy of the kind                    x
//	Changed             before the commit                           x
//	Unchanged           instead of a commit                x        x
//	Committed           the commit, at a revision          x
//	Created             after the commit                   x
//	Warning             any stage                          x
//	Failed              an error becomes the response      x        x
//	Responded, End      the response                       x
//
// A method whose only subscriber is the history is a method of [history.Entry], which a Request embeds. Findings and the
// report of a test read the history later. Stages that a request does not reach report nothing.
//
// Metrics do not subscribe. As on a real server, they count the response of the handler, which a fault may replace or
// withhold. The history has the response that the client gets.
//
// [Write] is one attempt at a write. It keeps the object between two stages, to find what a strategy has changed, and
// whether it has dropped a status.
//
// # Invariants
//
//   - Observing never changes the result of a request.
//   - A subscriber that a request does not have costs a comparison with nil. All requests have the history;
//     few have the other two. The budget for them together is 2 µs a request (BenchmarkRecord in rest).
//   - From never returns nil. Without an observer, the methods do nothing.
//   - Writes of the server's own controllers have their own Request, so the explanation of a client's request covers
//     only this request.
//
// # Locks
//
// The explanation of a request has one mutex, and history.Recorder another one. Each is a leaf and held for a
// few statements. Filters add the subscribers to a Request before they pass it on. From then on it does not
// change, and several goroutines may call its methods.
package observe
