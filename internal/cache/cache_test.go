package cache_test

import (
	"testing"

	"github.com/fakecluster/fakecluster/internal/cache"
)

func TestTheLeastRecentlyUsedValueIsEvicted(t *testing.T) {
	c := cache.New[string, int](10)
	c.Put("a", 1, 4)
	c.Put("b", 2, 4)
	if got := c.Put("b", 3, 4); got != 2 {
		t.Errorf("b, which is there, is replaced by %d", got)
	}
	if _, ok := c.Get("a"); !ok {
		t.Error("a is evicted within the limit")
	}
	c.Put("c", 3, 4) // 12 are too many
	for key, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if _, ok := c.Get(key); ok != want {
			t.Errorf("%s is there: %v", key, ok)
		}
	}
	c.Put("d", 4, 100) // too much alone, and yet the last
	for key, want := range map[string]bool{"a": false, "c": false, "d": true} {
		if _, ok := c.Get(key); ok != want {
			t.Errorf("%s is there: %v", key, ok)
		}
	}
}

func TestAReplacedValueNoLongerCounts(t *testing.T) {
	c := cache.New[string, int](10)
	c.Replace("a", 1, 4)
	c.Replace("b", 2, 4)
	c.Replace("a", 3, 6) // 10 are not too many
	for key, want := range map[string]int{"a": 3, "b": 2} {
		if got, _ := c.Get(key); got != want {
			t.Errorf("%s is %d, want %d", key, got, want)
		}
	}
	c.Get("b")
	c.Replace("b", 4, 5) // 11 are, and a was used longest ago
	for key, want := range map[string]bool{"a": false, "b": true} {
		if _, ok := c.Get(key); ok != want {
			t.Errorf("%s is there: %v", key, ok)
		}
	}
}

func TestAnIDDependsOnThePartsAndTheirBoundaries(t *testing.T) {
	ids := map[cache.ID][]string{}
	for _, parts := range [][]string{{"ab"}, {"a", "b"}, {"", "ab"}, {"ab", ""}, {}} {
		id := cache.NewID(parts...)
		if other, ok := ids[id]; ok {
			t.Errorf("%q and %q have one ID", parts, other)
		}
		ids[id] = parts
	}
	if parts := ids[cache.NewID("a", "b")]; len(parts) != 2 {
		t.Error("the same parts have two IDs")
	}
}
