package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/buntdb"
)

// The bounds of the history, where the Options say nothing else.
const (
	DefaultHistoryRevisions = 100_000
	DefaultHistoryBytes     = 256 << 20
)

// Options bound the history that a store keeps. Whichever bound is reached first has the oldest revisions forgotten.
// The newest revision is always kept.
type Options struct {
	// HistoryRevisions is how many revisions to keep. 0 means DefaultHistoryRevisions.
	HistoryRevisions int

	// HistoryBytes is how many bytes of values to keep, a revision counting with the larger of the value it made
	// and the value it replaced. 0 means DefaultHistoryBytes.
	HistoryBytes int64
}

func (o Options) withDefaults() (Options, error) {
	if o.HistoryRevisions < 0 || o.HistoryBytes < 0 {
		return o, fmt.Errorf("store options: the history cannot be negative: %+v", o)
	}
	if o.HistoryRevisions == 0 {
		o.HistoryRevisions = DefaultHistoryRevisions
	}
	if o.HistoryBytes == 0 {
		o.HistoryBytes = DefaultHistoryBytes
	}
	return o, nil
}

// Store is safe for concurrent use. The package comment tells its locks.
type Store struct {
	options Options
	bubble  bool // opened in a testing/synctest bubble
	closed  atomic.Bool
	state   state
	log     log
	changes changes

	write  sync.Mutex
	frozen *Snapshot // of the present, if one was taken; guarded by write
}

// Open returns an empty store at revision 1. It has to be closed.
func Open(o Options) (*Store, error) {
	return Load(&Snapshot{revision: firstRevision}, o)
}

// Close ends every cursor and lets go of the records. Later calls fail with [ErrClosed]; closing again does nothing.
//
// In a testing/synctest bubble, Close returns after a bit more than a second of the bubble's time, when the store's
// last goroutine has ended.
func (s *Store) Close() error {
	s.close()
	if s.bubble {
		// The bubble's time goes on only when all of its goroutines wait: once it has passed the next tick, the
		// goroutine that ticks has found the database closed and ended. No lock is held, so that time can go on
		// for another Close as well.
		<-time.NewTimer(buntdbTick + time.Millisecond).C
	}
	return nil
}

func (s *Store) close() {
	s.write.Lock()
	s.closed.Store(true)
	s.frozen = nil
	_ = s.state.db.Close() // in memory, it fails only when it is closed already
	s.state.release()      // no transaction is under way, and no other will be
	s.write.Unlock()
	s.changes.announce()
}

// Revision returns the revision of the newest write, 1 if there was none.
func (s *Store) Revision() int64 { return s.log.revision.Load() }

// Oldest returns the oldest revision at which the store can be read, and after which it can be watched.
func (s *Store) Oldest() int64 { return s.log.oldest.Load() }

// Compact forgets the history up to and including a revision, as etcd does: the state at the revision itself, and
// all that changed after it, are still there. The revision becomes [Store.Oldest]; where it is that already, nothing
// happens. A revision that is older fails with a [*CompactedError], one that is yet to come with a [*FutureError].
func (s *Store) Compact(revision int64) error {
	s.write.Lock()
	defer s.write.Unlock()
	return s.update(func(*buntdb.Tx) error {
		if err := s.retained(revision); err != nil {
			return err
		}
		s.log.forget(revision)
		s.frozen = nil // its history is longer
		return nil
	})
}

// retained says why a revision cannot be read, nil if it can. The answer is good for as long as the caller keeps
// writers out.
func (s *Store) retained(revision int64) error {
	if newest := s.log.revision.Load(); revision > newest {
		return &FutureError{Requested: revision, Current: newest}
	}
	if oldest := s.log.oldest.Load(); revision < oldest {
		return &CompactedError{Requested: revision, Oldest: oldest}
	}
	return nil
}

// view runs f in a transaction that reads.
func (s *Store) view(f func(*buntdb.Tx) error) error { return closing(s.state.db.View(f)) }

// update runs f in a transaction that writes.
func (s *Store) update(f func(*buntdb.Tx) error) error { return closing(s.state.db.Update(f)) }

func closing(err error) error {
	if errors.Is(err, buntdb.ErrDatabaseClosed) {
		return ErrClosed
	}
	return err
}
