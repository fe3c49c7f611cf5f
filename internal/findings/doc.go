// Package findings describes events in a cluster that may explain why a test failed: rejected requests, conflicts,
// panics of handlers and controllers, objects that changed without end or were deleted but still exist, a status or
// fields that were not stored, kinds that a controller owns and does not watch, owned objects that were not created
// again, webhooks that were never called, reads that were repeated although nothing changed, faults that struck.
//
// It reads the history of the cluster when the findings are requested, and costs nothing before. Findings are for a
// person who reads the log of a test: each section is short, with the newest line first.
package findings
