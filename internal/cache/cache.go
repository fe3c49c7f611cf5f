package cache

import (
	"container/list"
	"crypto/sha256"
	"io"
	"sync"
)

// ID is the hash of one or several texts.
type ID [sha256.Size]byte

// NewID returns the ID of several texts together. The texts "a" and "b" have another ID than
// the one text "ab".
func NewID(parts ...string) ID {
	h := sha256.New()
	for _, part := range parts {
		_, _ = io.WriteString(h, part) // a hash never fails
		h.Write([]byte{0})
	}
	return ID(h.Sum(nil))
}

// Cache is an LRU cache with a limit on the total weight of its values. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	limit int

	mu      sync.Mutex
	weight  int
	entries map[K]*list.Element
	order   list.List               // of cached[K, V], the most recently used first
	making  map[K]func() (V, error) // calls of Make in progress
}

type cached[K comparable, V any] struct {
	key    K
	value  V
	weight int
}

// New returns a cache with a limit on the total weight of its values, in the unit of the callers of Put: bytes, or 1 for
// each value. A single value above the limit stays until the next one is added.
func New[K comparable, V any](limit int) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, entries: map[K]*list.Element{}, making: map[K]func() (V, error){}}
}

// Get returns the value of a key. ok is false if there is none.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(cached[K, V]).value, true
}

// Make returns the value of a key. If there is none, it calls newValue and stores the result, unless that is an error.
// Concurrent calls for a key share one call of newValue and its result.
func (c *Cache[K, V]) Make(key K, weight int, newValue func() (V, error)) (V, error) {
	c.mu.Lock()
	if e := c.entries[key]; e != nil {
		defer c.mu.Unlock()
		c.order.MoveToFront(e)
		return e.Value.(cached[K, V]).value, nil
	}
	call := c.making[key]
	if call == nil {
		call = sync.OnceValues(func() (V, error) {
			defer func() { // after Put, so that later calls find the value
				c.mu.Lock()
				defer c.mu.Unlock()
				delete(c.making, key)
			}()
			value, err := newValue()
			if err != nil {
				return value, err
			}
			return c.Put(key, value, weight), nil
		})
		c.making[key] = call
	}
	c.mu.Unlock()
	return call()
}

// Put stores a value and returns it. If the key has a value, it returns that one, so that all callers share it.
func (c *Cache[K, V]) Put(key K, value V, weight int) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil {
		return e.Value.(cached[K, V]).value
	}
	c.entries[key] = c.order.PushFront(cached[K, V]{key, value, weight})
	c.weight += weight
	c.trim()
	return value
}

// Replace stores a value in place of the current one.
func (c *Cache[K, V]) Replace(key K, value V, weight int) {
	c.ReplaceIf(key, value, weight, func(V, bool) bool { return true })
}

// ReplaceIf is Replace if expected returns true for the current value, and reports whether it did. ok is false if there
// is no value. expected is called under the lock, so it must be fast.
func (c *Cache[K, V]) ReplaceIf(key K, value V, weight int, expected func(present V, ok bool) bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	var present V
	if e != nil {
		present = e.Value.(cached[K, V]).value
	}
	if !expected(present, e != nil) {
		return false
	}
	if e != nil {
		c.weight -= e.Value.(cached[K, V]).weight
		e.Value = cached[K, V]{key, value, weight}
		c.order.MoveToFront(e)
	} else {
		c.entries[key] = c.order.PushFront(cached[K, V]{key, value, weight})
	}
	c.weight += weight
	c.trim()
	return true
}

// trim drops the least recently used values until the others are within the limit.
func (c *Cache[K, V]) trim() {
	for c.weight > c.limit && c.order.Len() > 1 {
		oldest := c.order.Remove(c.order.Back()).(cached[K, V])
		delete(c.entries, oldest.key)
		c.weight -= oldest.weight
	}
}
