// Package findings describes what has happened in a cluster that may be the reason why a test failed:
// requests that were refused, conflicts, handlers and controllers that panicked, objects that changed
// without end or were deleted and are still there, a status or fields that were not kept, kinds that a
// controller owns and does not watch, owned objects that nobody has created again, webhooks that nobody
// called, reads that were repeated although nothing changed, faults that struck.
//
// It reads what the cluster remembers anyway, when the findings are requested, and costs nothing before. It is
// written for a person who reads the log of a test: at most [MaxLines] lines, the newest first, in
// the words of requests.
package findings
