package cache_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
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

// TestAValueIsMadeOnce proves that goroutines that want a value while it is made wait for it.
func TestAValueIsMadeOnce(t *testing.T) {
	c := cache.New[string, int](10)
	var calls atomic.Int32
	var others sync.WaitGroup
	newValue := func() (int, error) { return int(calls.Add(1)), nil }
	value, err := c.Make("key", 1, func() (int, error) {
		asks := make(chan struct{})
		for range 5 {
			others.Go(func() {
				asks <- struct{}{}
				if value, err := c.Make("key", 1, newValue); value != 1 || err != nil {
					t.Errorf("another caller gets %d, %v", value, err)
				}
			})
		}
		for range 5 {
			<-asks
		}
		for range 1000 {
			runtime.Gosched() // to the others, who wait
		}
		return newValue()
	})
	others.Wait()
	if value != 1 || err != nil || calls.Load() != 1 {
		t.Errorf("the caller gets %d, %v; it is made %d times", value, err, calls.Load())
	}
	if value, err := c.Make("key", 1, newValue); value != 1 || err != nil {
		t.Errorf("a later caller gets %d, %v", value, err)
	}
}

func TestAnErrorIsNotKept(t *testing.T) {
	c := cache.New[string, int](10)
	failed := errors.New("failed")
	if _, err := c.Make("key", 1, func() (int, error) { return 0, failed }); err != failed {
		t.Errorf("the error is %v", err)
	}
	for range 2 {
		if value, err := c.Make("key", 1, func() (int, error) { return 7, nil }); value != 7 || err != nil {
			t.Errorf("after the error: %d, %v", value, err)
		}
	}
}
