// Package history remembers what has happened in a cluster: which requests clients have made,
// and who has made which revision of which object.
//
// A [Recorder] belongs to one server and is always on. An [Entry] is a request from its
// beginning to its end. It is a subscriber of package observe, whose value travels in the context of the
// request and takes the events of its stages. The server's own controllers have entries of their
// own, which name the request that caused them.
//
// # Bounds
//
// A Recorder keeps the newest [MaxRequests] requests, and fewer if their texts (paths, queries,
// messages) take more than [MaxBytes]. Its counts ([Recorder.Stats]) are of all requests, by
// client, verb and resource; beyond [MaxCounted] different ones it counts the rest as one. Who has
// made a revision is known as long as the store remembers the revision, however many requests
// have come since.
//
// # What always holds
//
//   - Who has made a revision is known before anybody can read the revision: the store asks for
//     the value of a write under its lock, and that is when the writer is noted.
//   - A client that has read the beginning of an answer finds the code of its request here.
//
// # Locks
//
// A Recorder has one mutex. It is held for a moment only, while no other lock is taken and
// nothing is called out to. It is taken under the lock of the store's writers, so the store is
// never called while it is held.
package history
