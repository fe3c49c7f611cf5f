package store

import (
	"sort"
	"time"

	"github.com/tidwall/buntdb"
)

// state is the present: a key's record, and records by key.
//
// It has two layers. base is what the store was loaded with: sorted, frozen, shared with whoever else was loaded with
// it. db holds what has been written since, with a tombstone for each key of base that was deleted. A store that was
// opened empty has no base, and is all buntdb.
//
// Two indexes stand beside db for what its tree is slow at. Its lock guards them too: they are read in its
// transactions and written in its writable ones, after db itself, which alone could refuse.
type state struct {
	db   *buntdb.DB
	base []item

	byKey map[string]string // what db has, without the dozen cache misses of a walk down the tree
	keys  keys              // of both layers, to count by
}

// release lets go of what is beside a closed db.
func (s *state) release() { s.base, s.byKey, s.keys = nil, nil, keys{} }

// get returns what a key has, a tombstone if it has no record.
func (s *state) get(key string) item {
	if encoded, ok := s.byKey[key]; ok {
		return item{key: key, encoded: encoded}
	}
	if i := search(s.base, key); i < len(s.base) && s.base[i].key == key {
		return s.base[i]
	}
	return item{key: key}
}

// create gives a key, which has none, its item.
func (s *state) create(tx *buntdb.Tx, i item) error {
	if err := s.replace(tx, i); err != nil {
		return err
	}
	s.keys.insert(i.key)
	return nil
}

// replace gives a key another item.
func (s *state) replace(tx *buntdb.Tx, i item) error {
	if _, _, err := tx.Set(i.key, i.encoded, nil); err != nil {
		return err
	}
	s.byKey[i.key] = i.encoded
	return nil
}

// remove takes its item from a key.
func (s *state) remove(tx *buntdb.Tx, key string) error {
	if i := search(s.base, key); i < len(s.base) && s.base[i].key == key {
		if err := s.replace(tx, item{key: key}); err != nil {
			return err
		}
	} else {
		if _, err := tx.Delete(key); err != nil {
			return err
		}
		delete(s.byKey, key)
	}
	s.keys.remove(key)
	return nil
}

// items returns the first n items of a range, which has that many, in the order of their keys. Those of past, sorted
// as well, stand in the place of the present ones.
func (s *state) items(tx *buntdb.Tx, r keyRange, past []item, n int) []item {
	base, past := within(s.base, r), within(past, r)
	items := make([]item, 0, n)
	// As there are n items before it, the end of the range needs no watching: not to look at the keys, which are not
	// in the cache, is a good part of the speed. An error there can be only when tx has ended.
	if len(base) == 0 && len(past) == 0 {
		// So it is most of the time: there is nothing to merge, and no tombstone.
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

// sequence pushes items, in the order of their keys, until there are no more or yield has had enough.
type sequence func(yield func(item) bool)

// merge makes one sequence of two. Where both have a key, the items of the slice win if they are over the others.
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

// search returns the place of the first item whose key is not less than key.
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

// buntdbTick is how often the goroutine of a buntdb looks whether its database has been closed.
const buntdbTick = time.Second

// inBubble says whether the caller runs in a testing/synctest bubble. Only there, and on every platform there, is
// the time without a monotonic reading, which Round takes off.
func inBubble() bool {
	now := time.Now()
	return now == now.Round(0)
}
