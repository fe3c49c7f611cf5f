package store

import (
	"iter"
	"sync/atomic"
)

// EventType is the effect of a write on its key.
type EventType int

const (
	Created EventType = iota // the key did not have a record
	Updated                  // the key's record was replaced
	Deleted                  // the key no longer has a record
)

func (t EventType) String() string {
	switch t {
	case Created:
		return "created"
	case Updated:
		return "updated"
	case Deleted:
		return "deleted"
	}
	return "unknown"
}

// Event is one committed write. Its revision is Record.Revision. It is immutable.
type Event struct {
	Type EventType

	// Record is the record that the write made. For a delete it has the revision of the delete and the value that
	// [Write].Make returned.
	Record Record

	// Previous is the record before the write: the zero Record for a create. It must not be changed.
	Previous *Record
}

// noRecord is the Previous of every create.
var noRecord Record

// size returns the number of bytes that an event counts against the limit of the history: the larger of its two values.
// The other one is usually held by the event before it too.
func (e *Event) size() int64 {
	return int64(max(len(e.Record.Value), len(e.Previous.Value)))
}

// log is the history: the event of each revision in (oldest, revision]. The events are in a ring; the slot of a
// revision is its remainder by the ring's length. Readers do not lock. One writer at a time appends and trims.
//
// The ring of slots below holds revisions 7 to 10, oldest is 6:
//
//	slot   0   1   2   3   4   5   6   7
//	event  8   9  10   -   -   -   -   7
//
// A reader compares the revision of the event in a slot with the requested one. If the slot is empty or has a
// newer event, the wanted event has been forgotten. The writer empties the slots of forgotten events one by one, so
// that their memory is free at once, even while others read.
type log struct {
	maxRevisions int64
	maxBytes     int64
	bytes        int64 // of the events in the ring; only the writer uses it

	ring     atomic.Pointer[ring] // its length is a power of two; replaced to grow
	oldest   atomic.Int64
	revision atomic.Int64
}

// smallestRing is the length of the ring of a new store.
const smallestRing = 64

// FirstRevision is the revision of a store before its first write, as in etcd.
const FirstRevision = 1

// init fills the log with events. The newest of them has the given revision, and bytes is the size of all.
func (l *log) init(o Options, revision int64, events []*Event, bytes int64) {
	l.maxRevisions, l.maxBytes, l.bytes = int64(o.HistoryRevisions), o.HistoryBytes, bytes
	slots := newRing(len(events))
	for i, e := range events {
		slots.slot(revision - int64(len(events)) + 1 + int64(i)).Store(e)
	}
	l.oldest.Store(revision - int64(len(events)))
	l.ring.Store(&slots)
	l.revision.Store(revision) // from now on readers look for the events
	l.trim()
}

// event returns the event of a revision that has been committed, nil if it has been forgotten.
func (l *log) event(revision int64) *Event {
	e := l.ring.Load().slot(revision).Load()
	if e == nil || e.Record.Revision != revision {
		return nil
	}
	return e
}

// between yields the events after one revision, up to and including another revision, which has been committed. If an
// event has been forgotten, before or while it is reading, it ends with a [*CompactedError].
func (l *log) between(after, last int64) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		for r := after + 1; r <= last; r++ {
			e := l.event(r)
			if e == nil {
				yield(nil, &CompactedError{Requested: r - 1, Oldest: l.oldest.Load()})
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// append publishes the next event.
func (l *log) append(e *Event) {
	r := *l.ring.Load()
	if e.Record.Revision-l.oldest.Load() > int64(len(r)) {
		r = l.grow()
	}
	r.slot(e.Record.Revision).Store(e)
	l.bytes += e.size()
	l.revision.Store(e.Record.Revision) // from now on readers look for the event
	l.trim()
}

func (l *log) grow() ring {
	events := l.events()
	r := newRing(len(events) + 1)
	for _, e := range events {
		r.slot(e.Record.Revision).Store(e)
	}
	l.ring.Store(&r)
	return r
}

// events returns all events of the log, in order. Only the writer may call it, because it relies on nothing being
// forgotten meanwhile.
func (l *log) events() []*Event {
	slots := *l.ring.Load()
	oldest, revision := l.oldest.Load(), l.revision.Load()
	events := make([]*Event, 0, revision-oldest)
	for r := oldest + 1; r <= revision; r++ {
		events = append(events, slots.slot(r).Load())
	}
	return events
}

// trim drops the events beyond the bounds. The newest event stays whatever its size, so that a watcher that keeps up
// sees every event.
func (l *log) trim() {
	revision := l.revision.Load()
	for {
		oldest := l.oldest.Load()
		held := revision - oldest
		if held <= 1 || held <= l.maxRevisions && l.bytes <= l.maxBytes {
			return
		}
		l.forget(oldest + 1)
	}
}

// forget drops the events up to and including a committed revision.
func (l *log) forget(revision int64) {
	r := *l.ring.Load()
	for o := l.oldest.Load() + 1; o <= revision; o++ {
		slot := r.slot(o)
		l.bytes -= slot.Load().size()
		l.oldest.Store(o) // first, so that a reader that finds the slot empty also finds out why
		slot.Store(nil)
	}
}

// ring is the log's memory.
type ring []atomic.Pointer[Event]

func newRing(events int) ring {
	n := smallestRing
	for n < events {
		n *= 2
	}
	return make(ring, n)
}

func (r ring) slot(revision int64) *atomic.Pointer[Event] {
	return &r[revision&int64(len(r)-1)]
}
