package store

import (
	"iter"
	"sync/atomic"
)

// EventType is what a write did to its key.
type EventType int

const (
	Created EventType = iota // the key had no record
	Updated                  // the key's record was replaced
	Deleted                  // the key has no record any more
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

	// Record is what the write made; for a delete, the record's last words under the revision of the delete.
	Record Record

	// Previous is what stood before: the zero Record for a create. Like the event itself, it is not to be changed.
	Previous *Record
}

// noRecord is what stood before a create. All creates share it, so that they need no room for it.
var noRecord Record

// size is what an event counts against the bytes of the history: the larger of its two values, because the other
// one is, as a rule, held by the event before it too.
func (e *Event) size() int64 {
	return int64(max(len(e.Record.Value), len(e.Previous.Value)))
}

// log is the history: the event of each revision in (oldest, revision], in a ring where a revision's place is its
// remainder. Anybody reads it at any time without a lock; one writer at a time appends and forgets.
//
// The ring of slots below holds revisions 7 to 10, oldest is 6:
//
//	slot   0   1   2   3   4   5   6   7
//	event  8   9  10   -   -   -   -   7
//
// A reader knows by the event's own revision whether it got the one it wanted; an empty slot or a newer event mean
// that the wanted one has been forgotten. Slots of forgotten events are emptied one by one, so that their memory goes
// at once, whoever is still reading.
type log struct {
	maxRevisions int64
	maxBytes     int64
	bytes        int64 // of the events in the ring; the writer's

	ring     atomic.Pointer[ring] // its length is a power of two; replaced to grow
	oldest   atomic.Int64
	revision atomic.Int64
}

// smallestRing keeps an idle store small.
const smallestRing = 64

// firstRevision is that of a store into which nothing has been written, as in etcd.
const firstRevision = 1

// init makes the log one of the given events, of which the newest has the given revision. bytes is their size.
func (l *log) init(o Options, revision int64, events []*Event, bytes int64) {
	l.maxRevisions, l.maxBytes, l.bytes = int64(o.HistoryRevisions), o.HistoryBytes, bytes
	l.revision.Store(revision)
	l.oldest.Store(revision - int64(len(events)))
	slots := newRing(len(events))
	for i, e := range events {
		slots.slot(revision - int64(len(events)) + 1 + int64(i)).Store(e)
	}
	l.ring.Store(&slots)
	l.trim()
}

// at returns the event of a revision that has been committed, nil if it has been forgotten.
func (l *log) at(revision int64) *Event {
	e := l.ring.Load().slot(revision).Load()
	if e == nil || e.Record.Revision != revision {
		return nil
	}
	return e
}

// between goes through the events after one revision, up to and including another one that has been committed. Where
// the first of them have been forgotten, or are while it is on its way, it ends with a [*CompactedError].
func (l *log) between(after, last int64) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		for r := after + 1; r <= last; r++ {
			e := l.at(r)
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
	l.revision.Store(e.Record.Revision) // from here on readers look for it
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

// events returns all that the log holds, in order. Only a writer may ask: nothing is forgotten meanwhile.
func (l *log) events() []*Event {
	slots := *l.ring.Load()
	oldest, revision := l.oldest.Load(), l.revision.Load()
	events := make([]*Event, 0, revision-oldest)
	for r := oldest + 1; r <= revision; r++ {
		events = append(events, slots.slot(r).Load())
	}
	return events
}

// trim forgets what is beyond the bounds. The newest event stays whatever its size: a watcher that keeps up sees it.
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
		l.oldest.Store(o) // before the slot is empty: who finds it empty is to find out why
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
