package store

import (
	"slices"
	"sort"
)

// keys is the sorted set of the keys that have a record. It counts the keys of a range without visiting all
// of them, as buntdb would.
//
// The keys are in runs of at most maxRun, so that an insertion moves few of them, and a count adds up few lengths.
// Copies share their runs until one of them changes a run.
type keys struct {
	runs []run // none is empty
}

type run struct {
	keys   []string
	shared bool // a copy has the same run, so it must not be changed
}

const maxRun = 256

// sortedKeys returns the set of keys that are sorted and different.
func sortedKeys(n int, key func(i int) string) keys {
	var k keys
	for i := range n {
		if i%maxRun == 0 {
			k.runs = append(k.runs, run{keys: make([]string, 0, min(maxRun, n-i))})
		}
		last := &k.runs[len(k.runs)-1]
		last.keys = append(last.keys, key(i))
	}
	return k
}

// copy returns a set that changes independently of k. It marks the runs of k as shared; if they are already, as in a
// copy, it does not write to k.
func (k *keys) copy() keys {
	for i := range k.runs {
		if !k.runs[i].shared {
			k.runs[i].shared = true
		}
	}
	return keys{runs: slices.Clone(k.runs)}
}

// find returns the run that has a key, or would have it, and the key's place in the run.
func (k *keys) find(key string) (run, place int, found bool) {
	run = max(0, sort.Search(len(k.runs), func(i int) bool { return k.runs[i].keys[0] > key })-1)
	if run < len(k.runs) {
		place, found = slices.BinarySearch(k.runs[run].keys, key)
	}
	return run, place, found
}

// own makes a run writable, with room for one more key.
func (k *keys) own(index int) *run {
	r := &k.runs[index]
	if r.shared {
		*r = run{keys: append(make([]string, 0, maxRun), r.keys...)}
	}
	return r
}

func (k *keys) insert(key string) {
	index, place, found := k.find(key)
	if found {
		return
	}
	if len(k.runs) == 0 {
		k.runs = []run{{keys: []string{key}}}
		return
	}
	r := k.own(index)
	if len(r.keys) == maxRun {
		middle := maxRun / 2
		if place == maxRun {
			middle = maxRun - 1 // keys that are created in order fill the runs
		}
		next := run{keys: append(make([]string, 0, maxRun), r.keys[middle:]...)}
		clear(r.keys[middle:])
		r.keys = r.keys[:middle]
		k.runs = slices.Insert(k.runs, index+1, next)
		if place > middle {
			index, place = index+1, place-middle
		}
		r = &k.runs[index]
	}
	r.keys = slices.Insert(r.keys, place, key)
}

func (k *keys) remove(key string) {
	run, place, found := k.find(key)
	if !found {
		return
	}
	r := k.own(run)
	r.keys = slices.Delete(r.keys, place, place+1)
	if len(r.keys) == 0 {
		k.runs = slices.Delete(k.runs, run, run+1)
	}
}

// count returns how many keys are in the range.
func (k *keys) count(r keyRange) int {
	n := k.before(r.start)
	if r.end == "" {
		return k.len() - n
	}
	return max(0, k.before(r.end)-n)
}

// before returns how many keys are less than a key.
func (k *keys) before(key string) int {
	run, place, _ := k.find(key)
	for _, r := range k.runs[:run] {
		place += len(r.keys)
	}
	return place
}

func (k *keys) len() int {
	n := 0
	for _, r := range k.runs {
		n += len(r.keys)
	}
	return n
}

// keyRange is the range of keys from start up to, but not including, end. An empty end means no end.
type keyRange struct {
	start, end string
}

// rangeOf returns the range of the keys with a prefix that are not before start.
func rangeOf(prefix, start string) keyRange {
	r := keyRange{start: max(prefix, start)}
	for n := len(prefix) - 1; n >= 0; n-- {
		if prefix[n] < 0xff {
			r.end = prefix[:n] + string([]byte{prefix[n] + 1})
			break
		}
	}
	return r
}

// contains reports whether a key is in the range.
func (r keyRange) contains(key string) bool {
	return key >= r.start && (r.end == "" || key < r.end)
}
