package store

import (
	"github.com/tidwall/buntdb"

	"github.com/fakecluster/fakecluster/internal/bubble"
)

// Snapshot is the content of a store at one revision, with its history. It is immutable, can be
// loaded any number of times, and is independent of the store from which it was taken.
type Snapshot struct {
	revision int64
	items    []item
	keys     keys // all of its runs are shared
	events   []*Event
	bytes    int64 // of events
	meta     string
}

// Meta returns the text of the store's last SetMeta before the snapshot was taken, or the argument
// of [Snapshot.Write].
func (s *Snapshot) Meta() string { return s.meta }

// Revision returns the revision that the snapshot was taken at.
func (s *Snapshot) Revision() int64 { return s.revision }

// WithMeta returns the same snapshot with another Meta.
func (s *Snapshot) WithMeta(meta string) *Snapshot {
	other := *s
	other.meta = meta
	return &other
}

// Snapshot returns a snapshot of the present. It walks through all keys, unless the store has not changed since the
// last snapshot: then it returns that one.
func (s *Store) Snapshot() (*Snapshot, error) {
	s.write.Lock()
	defer s.write.Unlock()
	return s.snapshot()
}

// snapshot is Snapshot for a caller that holds Store.write.
func (s *Store) snapshot() (*Snapshot, error) {
	if s.frozen != nil {
		return s.frozen, nil
	}
	var snap *Snapshot
	err := s.view(func(tx *buntdb.Tx) error {
		snap = &Snapshot{
			revision: s.log.revision.Load(),
			items:    s.state.items(tx, keyRange{}, nil, s.state.keys.len()),
			events:   s.log.events(),
			bytes:    s.log.bytes,
			meta:     s.meta,
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// Copying marks the runs as shared, so it needs the lock for writing, if only for a moment.
	if err := s.update(func(*buntdb.Tx) error { snap.keys = s.state.keys.copy(); return nil }); err != nil {
		return nil, err
	}
	s.frozen = snap
	return snap, nil
}

// Load returns a store with the content of the snapshot: the same records at the same revisions,
// and as much of the history as the options allow. The store is independent of the snapshot and of
// other stores that are loaded from it. It has to be closed.
//
// The store keeps all records of the snapshot in memory, even those that were replaced since.
func Load(snap *Snapshot, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	db, err := openInMemory()
	if err != nil {
		return nil, err
	}
	s := &Store{
		options: o,
		bubble:  bubble.Inside(),
		meta:    snap.meta,
		state: state{
			db:   db,
			base: snap.items,
			keys: snap.keys.copy(),
		},
	}
	s.log.init(o, snap.revision, snap.events, snap.bytes)
	return s, nil
}

// Fork returns an independent copy of the store, with its revision, history and options. It has to be closed.
func (s *Store) Fork() (*Store, error) {
	snap, err := s.Snapshot()
	if err != nil {
		return nil, err
	}
	return Load(snap, s.options)
}
