package crd

import (
	"container/list"
	"crypto/sha256"
	"sync"
)

// contentID names a content.
type contentID [sha256.Size]byte

// newContentID names what the parts say together.
func newContentID(parts ...string) contentID {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return contentID(h.Sum(nil))
}

// cache remembers values by the content they were made from, a bounded number,
// the ones used last. Values are immutable, so clusters share nothing through a
// cache but time. Two callers may make the same value at once; nobody waits for
// the other.
type cache[V any] struct {
	size int

	mu      sync.Mutex
	entries map[contentID]*list.Element
	order   list.List // of cached[V], the latest used first
}

type cached[V any] struct {
	id    contentID
	value V
}

func newCache[V any](size int) *cache[V] {
	return &cache[V]{size: size, entries: map[contentID]*list.Element{}}
}

func (c *cache[V]) get(id contentID) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[id]
	if e == nil {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(cached[V]).value, true
}

func (c *cache[V]) put(id contentID, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[id] != nil {
		return
	}
	c.entries[id] = c.order.PushFront(cached[V]{id, value})
	if c.order.Len() > c.size {
		delete(c.entries, c.order.Remove(c.order.Back()).(cached[V]).id)
	}
}
