// Package history records what happens in a cluster: the requests of clients, and the writer of each revision.
//
// A [Recorder] belongs to one server and is always on. An [Entry] is a request from its beginning to its end. It
// subscribes to package observe, whose value travels in the context of the request and gets the events of its stages. A
// write of the server's own controllers has an Entry, too, with the number of the request that caused it.
//
// # Bounds
//
// A Recorder keeps the newest [MaxRequests] requests, and fewer if their texts (paths, queries,
// messages) take more than [MaxBytes]. Its counts ([Recorder.Stats]) are of all requests, by
// client, verb and resource; beyond [MaxCounted] different ones it counts the rest as one. It has the writer
// of a revision as long as the store has the revision, for any number of later requests.
//
// # Invariants
//
//   - The writer of a revision is recorded before the revision can be read: the store calls a function for the value of
//     a write under its lock, and this function records the writer.
//   - The code of a request is recorded before its client can read the beginning of the response.
//
// # Locks
//
// A Recorder has one mutex. It is held for a few statements, which take no other lock and call no
// other package. It is taken under the lock of the store's writers, so the store is
// never called while it is held.
package history
