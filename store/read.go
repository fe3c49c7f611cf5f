package store

import (
	"slices"
	"strings"

	"github.com/tidwall/buntdb"
)

// Get returns the record of a key. It fails with a [*NotFoundError] if there is none.
func (s *Store) Get(key string) (Record, error) { return s.GetAt(key, 0) }

// GetAt returns the record that a key had at a revision: at [Store.Oldest], at [Store.Revision], or between. Revision
// 0 means the newest. Beside the [*NotFoundError], it fails with a [*CompactedError] or a [*FutureError] if there
// is no telling.
func (s *Store) GetAt(key string, revision int64) (Record, error) {
	var current Record
	var newest int64
	err := s.view(func(*buntdb.Tx) error {
		newest = s.log.revision.Load()
		if revision != 0 {
			if err := s.retained(revision); err != nil {
				return err
			}
		}
		current, _ = s.state.get(key)
		return nil
	})
	if err != nil {
		return Record{}, err
	}
	if revision != 0 && (current.Revision == 0 || current.Revision > revision) {
		// The first write after the revision tells what was there before it.
		for e, err := range s.log.between(revision, newest) {
			if err != nil {
				return Record{}, err
			}
			if e.Record.Key == key {
				current = e.Previous
				break
			}
		}
	}
	if current.Revision == 0 {
		return Record{}, &NotFoundError{Key: key}
	}
	return current, nil
}

// ListOptions say which part of a prefix to list. The zero value is all of it, as it is now.
type ListOptions struct {
	// Start is the first key to list, or the place where it would be. Empty, or before the prefix, it is the
	// beginning of the prefix.
	Start string

	// Limit is how many records to return at most. 0 means all.
	Limit int

	// Revision is that of the state to list. 0 means the newest.
	Revision int64
}

// List is a part of the records of a prefix.
type List struct {
	Records []Record // in the order of their keys

	// Revision is that of the state this is a part of: to list the next part of, or to watch after.
	Revision int64

	// Remaining is how many records of the prefix follow the last one of Records.
	Remaining int64
}

// List returns the records of the keys that begin with a prefix. It fails with a [*CompactedError] or a
// [*FutureError] if the revision of the options is out of reach.
//
// A page costs what it holds, whatever the number of records, plus a look at each event since the revision asked for.
func (s *Store) List(prefix string, o ListOptions) (List, error) {
	if s.closed.Load() {
		return List{}, ErrClosed
	}
	r := rangeOf(prefix, o.Start)

	// The long way back is gone before the transaction, where it holds up nobody.
	past := undo{within: r, until: o.Revision}
	if o.Revision != 0 {
		if err := past.read(&s.log); err != nil {
			return List{}, err
		}
	}

	var list List
	var items []item
	err := s.view(func(tx *buntdb.Tx) error {
		list.Revision = s.log.revision.Load()
		if o.Revision != 0 {
			if err := s.retained(o.Revision); err != nil {
				return err
			}
			if err := past.read(&s.log); err != nil {
				return err
			}
			list.Revision = o.Revision
		}
		total := s.state.keys.count(r) + past.more
		n := total
		if o.Limit > 0 {
			n = min(n, o.Limit)
		}
		list.Remaining = int64(total - n)
		if n > 0 {
			items = s.state.items(tx, r, past.items, n)
		}
		return nil
	})
	if err != nil {
		return List{}, err
	}
	list.Records = make([]Record, len(items))
	for i := range items {
		list.Records[i] = items[i].record()
	}
	return list, nil
}

// undo is the way from the present back to a revision: the items that the keys of a range had there, of those keys
// that were written since.
type undo struct {
	within keyRange
	until  int64 // the newest revision that has been looked at; to begin with, the one to go back to
	items  []item
	more   int // how many more keys had a record then than have one now
	seen   map[string]struct{}
}

// read looks at the events that have been committed since it last did.
func (u *undo) read(l *log) error {
	newest := l.revision.Load()
	known := len(u.items)
	for e, err := range l.between(u.until, newest) {
		if err != nil {
			return err
		}
		key := e.Record.Key
		if !u.within.contains(key) {
			continue
		}
		switch e.Type {
		case Created:
			u.more--
		case Deleted:
			u.more++
		}
		if _, ok := u.seen[key]; ok {
			continue
		}
		if u.seen == nil {
			u.seen = make(map[string]struct{})
		}
		u.seen[key] = struct{}{}
		i := item{key: key}
		if e.Type != Created {
			i.past = &e.Previous
		}
		u.items = append(u.items, i)
	}
	u.until = max(u.until, newest)
	if len(u.items) > known {
		slices.SortFunc(u.items, func(a, b item) int { return strings.Compare(a.key, b.key) })
	}
	return nil
}
