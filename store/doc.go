// Package store keeps objects as strings of bytes under keys, as etcd does for a real API server: one
// revision counter for all keys, compare-and-swap writes, reads of the present and of the past, and watches
// that miss nothing. It does not interpret the values.
//
// # The idea
//
// The present is a [buntdb] in memory, from key to record, with a small index for what its tree cannot
// do: counting keys. The past is a log beside it: one immutable [Event] for each revision, with the
// record that the write made and the record that it replaced. A read at a past revision takes the present and
// undoes the later events. A watch is a [Cursor], which is only the revision up to which its owner has read
// the log. It has no queue that could overflow, and no writer waits for it.
//
// For example, after
//
//	2 create /a "one"    3 create /b "two"    4 update /a "three"
//
// the present is /a "three" and /b "two". A list at revision 3 undoes event 4 and finds /a "one". A cursor after
// revision 2 reads the events 3 and 4.
//
// A list decodes all of its records. A [Scan] decodes a record when it is requested. To select records quickly, a
// writer gives them an index beside the value; a scan reads the index without the value.
//
// The history is bounded, by a number of revisions and of bytes. [Store.Oldest] returns where it begins: the state at
// that revision can still be read, and the changes after it can still be watched. A reader that needs older revisions
// gets a [*CompactedError].
//
// A [Snapshot] is a frozen store. A store that is loaded from a snapshot shares the frozen records, and its
// own buntdb has only the later changes. So a copy of a large store takes almost no time. [Store.Fork] takes
// a snapshot and loads it.
//
// # In a file
//
// A store lives in memory. [OpenFile] returns one that also writes each commit to a file before any reader
// sees it, and that begins with what the file has. A file and a snapshot that [Snapshot.Write] writes have
// one format: the state at the oldest revision, and the events since, in frames with checksums. So OpenFile
// can continue with a written snapshot, and [ReadFile] reads a file as a snapshot. The file has the events in
// the order of the log. Events that the log has forgotten stay in the file until it is rewritten.
//
// A file also has a mark: the offset up to which it was complete at the last sync. The mark tells a torn
// write from damage. A damaged or missing frame behind the mark is a write that a power failure interrupted:
// OpenFile cuts the tail off, with a copy and a report. Before the mark it is damage, and OpenFile rejects
// the file.
//
// # What stays true
//
//   - Every successful write, including a delete, gets the next revision. A write may have updates of other
//     keys that commit together with it, each with a revision of its own.
//   - Records and events do not change. Callers may keep and share them.
//   - A value is in memory once, however many events, records, snapshots and stores have it.
//   - A commit comes before its notification: a watcher that is notified of a revision can read it.
//   - A file contains each commit as a whole or not at all.
//   - OpenFile returns a store with all commits that were synced, or that were in the file when it was
//     closed; otherwise it rejects the file.
//   - A store replaces no file but its own, and writes to its file only while that file is at its path.
//   - A reader of the log holds no lock, and no writer waits for it.
//   - Reads of the present hold buntdb's read lock for the time it takes to collect strings, never to parse them.
//
// # Locks, in the order they are taken
//
//  1. Store.write: one writer at a time, from the check of its preconditions until its commit. Write.Make runs
//     under it, and under no other lock, so that readers do not wait for it.
//  2. buntdb's own lock. It guards all of the present: the records, the index beside them, and which revision of
//     the log they are at. A transaction that reads the newest revision gets that of the records it sees.
//  3. file.mu: the file's handle and how far it is on the disk, which a timer uses too. Writes and syncs of the file run
//     under it.
//  4. changes.mu: the channel that is closed at the next commit. A leaf; nothing blocks while it is held.
//
// # Goroutines and testing/synctest
//
// A store runs no goroutine of its own, but buntdb does: one for each database. It would wake every second
// while the database is open; here it ends when it wakes for the first time, a second after [Open]. In a
// testing/synctest bubble, which ends only after all of its goroutines, [Store.Close] waits for that
// goroutine: a second of the bubble's time, which takes no real time. With [SyncEverySecond] a timer runs for
// a second after a write. Use and close a store where it was opened: in the same bubble, or outside of
// bubbles.
//
// [buntdb]: https://github.com/tidwall/buntdb
package store
