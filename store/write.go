package store

import (
	"strings"

	"github.com/tidwall/buntdb"
)

// Write is the content of a create, update or delete, and its conditions.
type Write struct {
	// Make returns the value for the revision of the write. It is called at most once, after all conditions
	// have been checked. Other writers wait for it, so it must be quick and must not call the store. If it
	// panics, nothing has been written.
	//
	// If Make is nil, the value, the tag and the index stay as they are: empty for a create, those of the deleted
	// record for a delete.
	Make func(revision int64) string

	// Tag is the Tag of the new record.
	Tag string

	// Index is the Index of the new record. It is kept in memory for each record, so it should be short.
	Index string

	// Require has conditions on other keys that must hold when the write commits.
	Require []Precondition

	// Before has updates of other keys that commit together with the write: all of them or none, with no
	// other write in between. Each gets a revision of its own, in their order, and the write gets the
	// revision after them. The keys must differ from each other and from that of the write.
	Before []Update

	// After is like Before, with revisions after that of the write. No key may be in both.
	After []Update
}

// Update replaces the record of a key as a part of the write of another key.
type Update struct {
	Key string
	// Revision is the revision that the record must have. Otherwise the whole write fails with a
	// [*PreconditionError].
	Revision int64

	// Make, Tag and Index are as those of a [Write].
	Make  func(revision int64) string
	Tag   string
	Index string

	// Committed, if it is not nil, is called with the new record after the commit, under no lock.
	Committed func(Record)
}

// Precondition is a condition on a key at the commit of a write to another key: its record has this revision, or, for
// revision 0, it does not have a record. With Prefix it is a condition on all keys that begin with Key: none of them has changed
// since the revision.
type Precondition struct {
	Key      string
	Revision int64
	Prefix   bool
}

// Create writes a record for a key that has none. It fails with an [*ExistsError] if the key has a record, and
// otherwise with a [*PreconditionError] for the first precondition that does not hold, or with a [*FileError] if the
// store's file does not take it.
func (s *Store) Create(key string, w Write) (Record, error) {
	return s.commit(Created, key, w, func(current Record, found bool) error {
		if found {
			return &ExistsError{Key: key, Current: current}
		}
		return nil
	})
}

// Update replaces the record of a key if it has the given revision. It fails with a [*NotFoundError] if there is no
// record, with a [*ConflictError] if the record has another revision, and otherwise with a [*PreconditionError] for the
// first precondition that does not hold.
func (s *Store) Update(key string, revision int64, w Write) (Record, error) {
	return s.commit(Updated, key, w, expect(key, revision))
}

// Delete removes the record of a key if it has the given revision. It fails as [Store.Update] does. The delete has a
// revision of its own. The record that it returns has that revision and the value that Make returns; it is also the
// Record of the event.
func (s *Store) Delete(key string, revision int64, w Write) (Record, error) {
	return s.commit(Deleted, key, w, expect(key, revision))
}

func expect(key string, revision int64) func(Record, bool) error {
	return func(current Record, found bool) error {
		if !found {
			return &NotFoundError{Key: key}
		}
		if current.Revision != revision {
			return &ConflictError{Key: key, Current: current, Expected: revision}
		}
		return nil
	}
}

// commit makes one write if check returns no error and the preconditions hold.
func (s *Store) commit(t EventType, key string, w Write, check func(current Record, found bool) error) (Record, error) {
	r, others, err := s.commitLocked(t, key, w, check)
	if err != nil {
		return Record{}, err
	}
	s.changes.announce()
	notify := func(updates []Update, changes []change) {
		for i, u := range updates {
			if u.Committed != nil {
				u.Committed(changes[i].event.Record)
			}
		}
	}
	notify(w.Before, others)
	notify(w.After, others[len(w.Before):])
	return r, nil
}

// commitLocked also returns the changes by the updates before and after the write.
func (s *Store) commitLocked(t EventType, key string, w Write, check func(Record, bool) error) (Record, []change, error) {
	s.write.Lock()
	defer s.write.Unlock() // also if Make panics

	var current Record
	var others []change
	look := func(tx *buntdb.Tx, updates []Update) error {
		for _, u := range updates {
			i := s.state.get(tx, u.Key)
			record := i.record()
			if record.Revision != u.Revision {
				return &PreconditionError{Key: u.Key, Current: record.Revision, Required: u.Revision}
			}
			others = append(others, change{former: record})
		}
		return nil
	}
	err := s.view(func(tx *buntdb.Tx) error {
		i := s.state.get(tx, key)
		current = i.record()
		if err := check(current, !i.tombstone()); err != nil {
			return err
		}
		if err := look(tx, w.Before); err != nil {
			return err
		}
		if err := look(tx, w.After); err != nil {
			return err
		}
		return s.require(tx, w.Require)
	})
	if err != nil {
		return Record{}, nil, err
	}

	revision := s.log.revision.Load()
	makeAll := func(updates []Update, changes []change) {
		for i, u := range updates {
			revision++
			changes[i] = makeChange(Updated, u.Key, changes[i].former, revision, Write{Make: u.Make, Tag: u.Tag, Index: u.Index})
		}
	}
	before, after := others[:len(w.Before)], others[len(w.Before):]
	makeAll(w.Before, before)
	revision++
	own := makeChange(t, key, current, revision, w)
	makeAll(w.After, after)

	if s.file != nil {
		// The file has the commit before any reader sees it.
		events := make([]*Event, 0, len(others)+1)
		for _, c := range before {
			events = append(events, c.event)
		}
		events = append(events, own.event)
		for _, c := range after {
			events = append(events, c.event)
		}
		if err := s.file.append(eventsFrameOf(s.file.safe(), events)); err != nil {
			return Record{}, nil, err
		}
	}

	// Readers see all of this at once, or nothing. What can fail comes first, and would undo itself.
	err = s.update(func(tx *buntdb.Tx) error {
		for i := range before {
			if err := s.apply(tx, &before[i]); err != nil {
				return err
			}
		}
		if err := s.apply(tx, &own); err != nil {
			return err
		}
		for i := range after {
			if err := s.apply(tx, &after[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Record{}, nil, err
	}
	s.frozen = nil
	if s.file != nil && s.file.wasteful() {
		s.rewrite()
	}
	return own.event.Record, others, nil
}

// change is one event of a commit.
type change struct {
	item   item // of the key, unless it is deleted
	former Record
	event  *Event
}

// makeChange calls the Make of a write.
func makeChange(t EventType, key string, current Record, revision int64, w Write) change {
	key = strings.Clone(key) // it may be a part of a large string
	next := current
	next.Key = key
	next.Revision = revision
	if t == Created {
		next.Created = next.Revision
	}
	if w.Make != nil {
		next.Value, next.Tag, next.Index = w.Make(next.Revision), w.Tag, w.Index
	}
	c := change{item: item{key: key}}
	if t != Deleted {
		// The event shares the memory of what buntdb holds.
		c.item.encoded = encode(next)
		next = decode(key, c.item.encoded)
	}
	if t == Created {
		c.event = &Event{Type: t, Record: next, Previous: &noRecord}
		return c
	}
	both := &struct {
		event  Event
		former Record
	}{Event{Type: t, Record: next}, current}
	both.former.Key = key
	c.event = &both.event
	c.event.Previous = &both.former
	return c
}

// apply makes a change in the present and in the log.
func (s *Store) apply(tx *buntdb.Tx, c *change) (err error) {
	switch c.event.Type {
	case Created:
		err = s.state.create(tx, c.item)
	case Updated:
		err = s.state.replace(tx, c.item)
	case Deleted:
		err = s.state.remove(tx, c.item.key)
	}
	if err == nil {
		s.log.append(c.event)
	}
	return err
}

func (s *Store) require(tx *buntdb.Tx, preconditions []Precondition) error {
	for _, p := range preconditions {
		if p.Prefix {
			if err := s.requireUnchanged(p); err != nil {
				return err
			}
			continue
		}
		i := s.state.get(tx, p.Key)
		if r := i.record(); r.Revision != p.Revision {
			return &PreconditionError{Key: p.Key, Current: r.Revision, Required: p.Revision}
		}
	}
	return nil
}

// requireUnchanged returns an error if a key with the prefix has changed. If the history does not reach back
// to the revision, it assumes a change.
func (s *Store) requireUnchanged(p Precondition) error {
	for e, err := range s.log.between(p.Revision, s.log.revision.Load()) {
		if err != nil {
			return &PreconditionError{Key: p.Key, Current: s.log.oldest.Load(), Required: p.Revision}
		}
		if strings.HasPrefix(e.Record.Key, p.Key) {
			return &PreconditionError{Key: p.Key, Current: e.Record.Revision, Required: p.Revision}
		}
	}
	return nil
}
