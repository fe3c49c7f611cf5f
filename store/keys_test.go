package store

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

func TestRangeOf(t *testing.T) {
	for _, c := range []struct {
		prefix, start string
		want          keyRange
	}{
		{"", "", keyRange{"", ""}},
		{"", "k", keyRange{"k", ""}},
		{"/a/", "", keyRange{"/a/", "/a0"}},
		{"/a/", "/a/5", keyRange{"/a/5", "/a0"}},
		{"/a/", "/", keyRange{"/a/", "/a0"}},
		{"a\xff", "", keyRange{"a\xff", "b"}},
		{"\xff\xff", "", keyRange{"\xff\xff", ""}},
	} {
		if got := rangeOf(c.prefix, c.start); got != c.want {
			t.Errorf("rangeOf(%q, %q) = %q, want %q", c.prefix, c.start, got, c.want)
		}
	}
}

// The set is compared with a sorted slice, through insertions, removals and copies that go on to live.
func TestKeysCountAsASortedSliceDoes(t *testing.T) {
	random := seedtest.Rand(t)
	type pair struct {
		keys keys
		want []string
	}
	pairs := []*pair{{}}
	for i := range 30_000 {
		p := pairs[random.IntN(len(pairs))]
		key := fmt.Sprintf("/%04d", random.IntN(5000))
		if i < 3000 {
			key = fmt.Sprintf("/%04d", i) // in order first
		}
		index, found := slices.BinarySearch(p.want, key)
		switch {
		case !found:
			p.keys.insert(key)
			p.want = slices.Insert(p.want, index, key)
		case i%50 < 40: // long spells of removals would leave few keys
			p.keys.remove(key)
			p.want = slices.Delete(p.want, index, index+1)
		}
		if i%10_000 == 5000 {
			pairs = append(pairs, &pair{p.keys.copy(), slices.Clone(p.want)})
		}
		prefix := fmt.Sprintf("/%02d", random.IntN(60))
		lo, _ := slices.BinarySearch(p.want, prefix)
		hi, _ := slices.BinarySearch(p.want, prefix+"\xff")
		if got := p.keys.count(rangeOf(prefix, "")); got != hi-lo {
			t.Fatalf("step %d: %d keys with prefix %q, want %d", i, got, prefix, hi-lo)
		}
		if got := p.keys.count(rangeOf("", key)); got != len(p.want)-index {
			t.Fatalf("step %d: %d keys from %q on, want %d", i, got, key, len(p.want)-index)
		}
	}
	for _, p := range pairs {
		var got []string
		for _, r := range p.keys.runs {
			got = append(got, r.keys...)
		}
		equal(t, "keys", got, p.want)
	}
	for _, key := range slices.Clone(pairs[0].want) {
		pairs[0].keys.remove(key)
	}
	equal(t, "keys of an emptied set", pairs[0].keys.len(), 0)
	pairs[0].keys.insert("k")
	equal(t, "keys of a set filled again", pairs[0].keys.count(keyRange{}), 1)
}
