// Package store keeps objects as strings of bytes under keys, as etcd does for a real API server: one revision
// counter for everything, compare-and-swap writes, reads of the present and of the past, watches that miss nothing.
// It knows keys, values and revisions, and nothing of what the values mean.
//
// # The idea
//
// The present is a [buntdb] in memory, from key to record, with two small indexes for what its tree is slow at: to
// find one key, and to count keys. The past is a log beside it: one immutable [Event] for each revision, with the
// record it made and the record it replaced. A read at a past revision takes the present and
// undoes the events since. A watch is a [Cursor], which is no more than a revision up to which its owner has read
// the log: it has no queue that could overflow, and nobody waits for it.
//
// A list is of strings that have been collected; a [Scan] leaves them as they are until a record is asked for. What
// readers pick records by, the writer may give beside the value: the index of a record costs next to nothing to read.
//
// The history is bounded, by revisions and by bytes. [Store.Oldest] says where it begins: the state at that
// revision can still be read, and a watch can still tell what changed after it. A reader that needs more gets a
// [*CompactedError].
//
// A [Snapshot] is a frozen store. A store loaded from one reads through to the frozen records, and its own buntdb
// holds only what has changed since, so that copies of a large store are made in a moment. [Store.Fork] is a
// snapshot loaded at once.
//
// # What stays true
//
//   - Every successful write, a delete too, takes the next revision, and is the only one to have it.
//   - Records and events never change once they are made. Whoever gets one may keep it and share it.
//   - A value is in memory once, however many events, records, snapshots and stores have it.
//   - Commit first, then wake: who is told of a revision can read it.
//   - A reader of the log holds no lock, and a writer waits for no reader of it.
//   - Reads of the present hold buntdb's read lock for the time it takes to collect strings, never to parse them.
//
// # Locks, in the order they are taken
//
//  1. Store.write: one writer at a time, from the judgement of its preconditions until its commit. Write.Make runs
//     under it, and under no other lock, so that readers do not wait for it.
//  2. buntdb's own lock. It guards all of the present: the records, the indexes beside them, and which revision of
//     the log they are at. Whoever reads the newest revision within a transaction reads that of the records it sees.
//  3. changes.mu: the channel that tells of the next commit. A leaf; nothing blocks while it is held.
//
// # Goroutines and testing/synctest
//
// A store runs no goroutine of its own, but buntdb does: one for each database, which wakes every second and ends
// when it then finds its database closed. So up to a second after [Store.Close] it is still there. In a
// testing/synctest bubble, which could not end before it, Close waits it out: a second of the bubble's time, which
// takes no real time. A store belongs where it was opened, in that bubble or in none: it is to be used and closed there.
//
// [buntdb]: https://github.com/tidwall/buntdb
package store
