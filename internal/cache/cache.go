package cache

import (
	"container/list"
	"crypto/sha256"
	"io"
	"sync"
)

// ID identifies a text, or several, by a hash.
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

// Cache keeps values by the text or the value that they were made from, up to a total weight. Beyond that it
// evicts the values that were used longest ago. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	limit int

	mu      sync.Mutex
	weight  int
	entries map[K]*list.Element
	order   list.List               // of cached[K, V], the one used last is first
	making  map[K]func() (V, error) // the calls of Make that have not returned
}

type cached[K comparable, V any] struct {
	key    K
	value  V
	weight int
}

// New makes a cache with a limit on the total weight of its values, in the unit that the
// callers of Put use: bytes, or 1 for each value. A single value that is heavier than the
// limit is kept until the next one comes.
func New[K comparable, V any](limit int) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, entries: map[K]*list.Element{}, making: map[K]func() (V, error){}}
}

// Get returns the value of a key, and reports whether there is one.
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

// Make returns the value of a key. If there is none, it calls newValue and keeps what that returns, unless it is an error. Several
// goroutines that want a value at the same time wait for one call, and all of them get its result.
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
			defer func() { // after Put, so that nobody who comes later makes the value again
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

// Put keeps a value and returns it. If there is a value already, it keeps and returns that
// one, so that all callers have the same.
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

// Replace keeps a value in place of the present one, for keys whose values change.
func (c *Cache[K, V]) Replace(key K, value V, weight int) {
	c.ReplaceIf(key, value, weight, func(V, bool) bool { return true })
}

// ReplaceIf is Replace if the present value is still the one that the caller expects, and reports whether it is. ok is false if there is none. The
// function must be fast.
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

// trim drops the values that were used longest ago until the rest is within the limit.
func (c *Cache[K, V]) trim() {
	for c.weight > c.limit && c.order.Len() > 1 {
		oldest := c.order.Remove(c.order.Back()).(cached[K, V])
		delete(c.entries, oldest.key)
		c.weight -= oldest.weight
	}
}
