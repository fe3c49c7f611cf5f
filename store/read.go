package store

import (
	"slices"
	"strings"

	"github.com/tidwall/buntdb"
)

// Get returns the record of a key. It fails with a [*NotFoundError] if there is none.
func (s *Store) Get(key string) (Record, error) { return s.GetAt(key, 0) }

// GetAt returns the record that a key had at a revision. Revision 0 means the newest. It fails with a
// [*NotFoundError] if there was none, with a [*CompactedError] if the revision is before [Store.Oldest], and with a
// [*FutureError] if it is after [Store.Revision].
func (s *Store) GetAt(key string, revision int64) (Record, error) {
	var present item
	var newest int64
	err := s.view(func(tx *buntdb.Tx) error {
		newest = s.log.revision.Load()
		if revision != 0 {
			if err := s.retained(revision); err != nil {
				return err
			}
		}
		present = s.state.get(tx, key)
		return nil
	})
	if err != nil {
		return Record{}, err
	}
	current := present.record()
	if revision != 0 && (current.Revision == 0 || current.Revision > revision) {
		// The first write of the key after the revision has the record before it.
		for e, err := range s.log.between(revision, newest) {
			if err != nil {
				return Record{}, err
			}
			if e.Record.Key == key {
				current = *e.Previous
				break
			}
		}
	}
	if current.Revision == 0 {
		return Record{}, &NotFoundError{Key: key}
	}
	return current, nil
}

// ListOptions select which part of a prefix to list. The zero value selects all of it, at the newest revision.
type ListOptions struct {
	// Start is the key to begin at. It need not have a record. If it is empty or before the prefix, the list begins
	// with the first key of the prefix.
	Start string

	// Limit is the largest number of records to return. 0 means all.
	Limit int

	// Revision is the revision of the state to list. 0 means the newest.
	Revision int64
}

// List is a page of the records of a prefix.
type List struct {
	Records []Record // in the order of their keys

	// Revision is the revision of the listed state: list the next page at it, and start a watch after it.
	Revision int64

	// Remaining is how many records of the prefix follow the last one of Records.
	Remaining int64
}

// List returns the records of the keys that begin with a prefix. It fails with a [*CompactedError] or a
// [*FutureError] if the revision of the options is out of reach.
//
// The time for a page grows with the number of records in it, and with the number of events since the requested
// revision. It does not depend on the number of records of the prefix.
func (s *Store) List(prefix string, o ListOptions) (List, error) {
	scan, err := s.Scan(prefix, o)
	if err != nil {
		return List{}, err
	}
	list := List{Records: make([]Record, scan.Len()), Revision: scan.Revision, Remaining: scan.Remaining}
	for i := range list.Records {
		if item := &scan.items[i]; item.past != nil {
			list.Records[i] = *item.past
		} else {
			list.Records[i].decode(item.key, item.encoded)
		}
	}
	return list, nil
}

// Scan is a [List] that decodes a record only when it is requested. It is for readers that need few of the records,
// or one after the other. It is immutable and safe for concurrent use.
type Scan struct {
	items []item

	// Revision is the revision of the scanned state: scan the next page at it, and start a watch after it.
	Revision int64

	// Remaining is how many records of the prefix follow the last one of the scan.
	Remaining int64
}

// Len returns the number of records.
func (s *Scan) Len() int { return len(s.items) }

// Key returns the key of the i-th record, in the order of the keys.
func (s *Scan) Key(i int) string { return s.items[i].key }

// Index returns the index of the i-th record.
func (s *Scan) Index(i int) string { return s.items[i].index() }

// Record returns the i-th record.
func (s *Scan) Record(i int) Record { return s.items[i].record() }

// Scan returns the same records as [Store.List], without decoding them. It fails in the same way.
func (s *Store) Scan(prefix string, o ListOptions) (Scan, error) {
	if s.closed.Load() {
		return Scan{}, ErrClosed
	}
	r := rangeOf(prefix, o.Start)

	// Most events are undone before the transaction begins, so that it is short and writers wait little.
	past := undo{within: r, until: o.Revision}
	if o.Revision != 0 {
		if err := past.read(&s.log); err != nil {
			return Scan{}, err
		}
	}

	var scan Scan
	err := s.view(func(tx *buntdb.Tx) error {
		scan.Revision = s.log.revision.Load()
		if o.Revision != 0 {
			if err := s.retained(o.Revision); err != nil {
				return err
			}
			if err := past.read(&s.log); err != nil {
				return err
			}
			scan.Revision = o.Revision
		}
		total := s.state.keys.count(r) + past.more
		n := total
		if o.Limit > 0 {
			n = min(n, o.Limit)
		}
		scan.Remaining = int64(total - n)
		if n > 0 {
			scan.items = s.state.items(tx, r, past.items, n)
		}
		return nil
	})
	if err != nil {
		return Scan{}, err
	}
	return scan, nil
}

// undo leads from the present back to a revision. It holds the items that keys of a range had at the revision, for
// those keys that have been written since.
type undo struct {
	within keyRange
	until  int64 // the newest revision that has been read; at first the one to go back to
	items  []item
	more   int // the number of keys that had a record then, minus the number of those that have one now
	seen   map[string]struct{}
}

// read reads the events that have been committed since its last call.
func (u *undo) read(l *log) error {
	newest := l.revision.Load()
	count := len(u.items)
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
			i.past = e.Previous
		}
		u.items = append(u.items, i)
	}
	u.until = max(u.until, newest)
	if len(u.items) > count {
		slices.SortFunc(u.items, func(a, b item) int { return strings.Compare(a.key, b.key) })
	}
	return nil
}
