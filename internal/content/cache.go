// Package content remembers what takes long to make by what it is made from.
package content

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"unsafe"
)

// ID names a content.
type ID [sha256.Size]byte

// NewID names what the parts say together.
func NewID(parts ...string) ID {
	h := sha256.New()
	for _, part := range parts {
		h.Write(unsafe.Slice(unsafe.StringData(part), len(part))) // it only reads
		h.Write([]byte{0})
	}
	return ID(h.Sum(nil))
}

// Cache remembers values by what they were made from, up to a total weight, the
// ones used last. Values are immutable, so clusters share nothing through a cache
// but time. Two callers may make the same value at once; nobody waits for the
// other.
type Cache[K comparable, V any] struct {
	limit int

	mu      sync.Mutex
	weight  int
	entries map[K]*list.Element
	order   list.List // of cached[K, V], the latest used first
}

type cached[K comparable, V any] struct {
	key    K
	value  V
	weight int
}

// NewCache makes a cache of at most the given weight.
func NewCache[K comparable, V any](limit int) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, entries: map[K]*list.Element{}}
}

// Get returns what is remembered.
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

// Put remembers a value, unless there is one, and returns the one that is
// remembered.
func (c *Cache[K, V]) Put(key K, value V, weight int) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil {
		return e.Value.(cached[K, V]).value
	}
	c.entries[key] = c.order.PushFront(cached[K, V]{key, value, weight})
	c.weight += weight
	for c.weight > c.limit && c.order.Len() > 1 {
		oldest := c.order.Remove(c.order.Back()).(cached[K, V])
		delete(c.entries, oldest.key)
		c.weight -= oldest.weight
	}
	return value
}
