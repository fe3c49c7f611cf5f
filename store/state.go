package store

import (
	"sort"

	"github.com/tidwall/buntdb"
)

// state is the present: the records by key.
//
// It has two layers. base holds the records that the store was loaded with: sorted, immutable, and shared with other
// stores that were loaded from the same snapshot. db holds what has been written since, with a tombstone for each key
// of base that was deleted. A store that was opened empty does not have a base.
//
// An index of the keys stands beside db, whose tree cannot count. The lock of db guards the index, too: it is
// read in the transactions of db, and written in its writable transactions after db, because only db could
// fail.
type state struct {
	db   *buntdb.DB
	base []item
	keys keys // of both layers
}

// release drops everything beside a closed db.
func (s *state) release() { s.base, s.keys = nil, keys{} }

// get returns the item of a key; it is a tombstone if the key does not have a record.
func (s *state) get(tx *buntdb.Tx, key string) item {
	if encoded, err := tx.Get(key); err == nil {
		return item{key: key, encoded: encoded}
	}
	if i := search(s.base, key); i < len(s.base) && s.base[i].key == key {
		return s.base[i]
	}
	return item{key: key}
}

// create sets the item of a key that has none.
func (s *state) create(tx *buntdb.Tx, i item) error {
	if err := s.replace(tx, i); err != nil {
		return err
	}
	s.keys.insert(i.key)
	return nil
}

// replace replaces the item of a key.
func (s *state) replace(tx *buntdb.Tx, i item) error {
	_, _, err := tx.Set(i.key, i.encoded, nil)
	return err
}

// remove removes the item of a key.
func (s *state) remove(tx *buntdb.Tx, key string) error {
	if i := search(s.base, key); i < len(s.base) && s.base[i].key == key {
		if err := s.replace(tx, item{key: key}); err != nil {
			return err
		}
	} else if _, err := tx.Delete(key); err != nil {
		return err
	}
	s.keys.remove(key)
	return nil
}

// items returns the first n items of a range, which has at least that many, in the order of their keys. Items of past,
// which are sorted too, replace the present ones.
func (s *state) items(tx *buntdb.Tx, r keyRange, past []item, n int) []item {
	base, past := within(s.base, r), within(past, r)
	items := make([]item, 0, n)
	if n == 0 {
		return items
	}
	// The range has n items, so keys need not be compared with its end. That saves reading the keys, which are
	// not in the processor's cache. The only possible error is that tx has ended.
	if len(base) == 0 && len(past) == 0 {
		// This is the usual case: nothing to merge, and no tombstones.
		_ = tx.AscendGreaterOrEqual("", r.start, func(key, encoded string) bool {
			items = items[:len(items)+1]
			i := &items[len(items)-1]
			i.key, i.encoded = key, encoded
			return len(items) < n
		})
		return items
	}
	written := func(yield func(item) bool) {
		_ = tx.AscendGreaterOrEqual("", r.start, func(key, encoded string) bool {
			return yield(item{key: key, encoded: encoded})
		})
	}
	merge(past, merge(base, written, false), true)(func(i item) bool {
		if !i.tombstone() {
			items = append(items, i)
		}
		return len(items) < n
	})
	return items
}

// sequence calls yield with items, in the order of their keys, until the end or until yield returns false.
type sequence func(yield func(item) bool)

// merge makes one sequence of two. If both have a key, the item of the slice wins if over is true.
func merge(slice []item, others sequence, over bool) sequence {
	if len(slice) == 0 {
		return others
	}
	return func(yield func(item) bool) {
		rest, more := slice, true
		others(func(i item) bool {
			for len(rest) > 0 && rest[0].key < i.key && more {
				more = yield(rest[0])
				rest = rest[1:]
			}
			if len(rest) > 0 && rest[0].key == i.key {
				if over {
					i = rest[0]
				}
				rest = rest[1:]
			}
			more = more && yield(i)
			return more
		})
		for len(rest) > 0 && more {
			more = yield(rest[0])
			rest = rest[1:]
		}
	}
}

// search returns the place of the first item whose key is not less than the given one.
func search(items []item, key string) int {
	return sort.Search(len(items), func(i int) bool { return items[i].key >= key })
}

// within returns those of sorted items that are in a range.
func within(items []item, r keyRange) []item {
	items = items[search(items, r.start):]
	if r.end != "" {
		items = items[:search(items, r.end)]
	}
	return items
}
