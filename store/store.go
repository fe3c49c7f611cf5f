package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tidwall/buntdb"
)

// The bounds of the history if the Options do not set them.
const (
	DefaultHistoryRevisions = 100_000
	DefaultHistoryBytes     = 256 << 20
)

// Options bound the history that a store keeps. When a bound is reached, the store drops the oldest revisions. It
// always keeps the newest.
type Options struct {
	// HistoryRevisions is the largest number of revisions to keep. 0 means DefaultHistoryRevisions.
	HistoryRevisions int

	// HistoryBytes is the largest number of bytes of values to keep. A revision counts as the larger of the value
	// that it made and the value that it replaced. 0 means DefaultHistoryBytes.
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

// Store holds records under keys, with their history. It is safe for concurrent use. The package comment lists its
// locks.
type Store struct {
	options Options
	bubble  bool // the store was opened in a testing/synctest bubble
	closed  atomic.Bool
	state   state
	log     log
	changes changes

	write  sync.Mutex
	frozen *Snapshot // a snapshot of the present; nil: none was taken; guarded by write
	meta   string    // guarded by write
	file   *file     // the data file; nil: the store is in memory only; guarded by write
}

// Open returns an empty store at revision 1. The caller closes it.
func Open(o Options) (*Store, error) {
	return Load(&Snapshot{revision: FirstRevision}, o)
}

// Close ends every cursor and frees the records. Later calls of other methods fail with [ErrClosed]. Further
// calls do nothing. When Close returns nil, all writes of a store in a file are on the disk; after an error
// they may not be.
//
// In a testing/synctest bubble, Close returns after a bit more than a second of the bubble's time, when the store's
// last goroutine has ended.
func (s *Store) Close() error {
	err := s.close()
	if s.bubble {
		waitForTick()
	}
	return err
}

func (s *Store) close() error {
	s.write.Lock()
	s.closed.Store(true)
	s.frozen = nil
	_ = s.state.db.Close() // a database in memory fails only if it is closed already
	s.state.release()      // transactions have ended
	var err error
	if s.file != nil {
		err = s.file.close()
		s.file = nil
	}
	s.write.Unlock()
	s.changes.announce()
	return err
}

// Revision returns the revision of the newest write, 1 if there was none.
func (s *Store) Revision() int64 { return s.log.revision.Load() }

// Oldest returns the oldest revision at which the store can be read, and after which it can be watched.
func (s *Store) Oldest() int64 { return s.log.oldest.Load() }

// Compact drops the history before a revision, as etcd does. The state at the revision and all changes after
// it can still be read, and the revision becomes [Store.Oldest]. If the history already begins there, Compact
// does nothing. Compact fails with a [*CompactedError] for an older revision, and with a [*FutureError] for
// one after [Store.Revision].
func (s *Store) Compact(revision int64) error {
	s.write.Lock()
	defer s.write.Unlock()
	return s.update(func(*buntdb.Tx) error {
		if err := s.retained(revision); err != nil {
			return err
		}
		if s.file != nil && revision > s.log.oldest.Load() {
			if err := s.file.append(newFrame(compactFrame).number(s.file.safe()).number(revision)); err != nil {
				return err
			}
		}
		s.log.forget(revision)
		s.frozen = nil // that snapshot has a longer history
		return nil
	})
}

// retained returns an error if a revision cannot be read. The result is valid while the caller keeps writers
// out.
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
