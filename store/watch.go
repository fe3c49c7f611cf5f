package store

import (
	"context"
	"strings"
	"sync"
)

// maxBatch is how many events a cursor returns at once: enough to make the wake-up cheap, few enough to begin with.
const maxBatch = 1024

// Cursor reads the changes to the keys of a prefix: every one, once, in the order of their revisions. It is a place
// in the history and holds nothing, so it need not be closed. It belongs to one goroutine at a time.
type Cursor struct {
	store    *Store
	prefix   string
	revision int64
}

// Watch returns a cursor at a revision: what it reads is what changed after that. Revision 0 means the newest.
// It fails with a [*CompactedError] or a [*FutureError] if there is no telling what changed since.
func (s *Store) Watch(prefix string, after int64) (*Cursor, error) {
	if s.closed.Load() {
		return nil, ErrClosed
	}
	if after == 0 {
		after = s.log.revision.Load()
	} else if err := s.retained(after); err != nil {
		return nil, err
	}
	return &Cursor{store: s, prefix: prefix, revision: after}, nil
}

// Revision returns the revision up to which the cursor has read: every change of the prefix up to it has been
// returned.
func (c *Cursor) Revision() int64 { return c.revision }

// Poll returns the next changes, 1024 at most, and none if there are none yet. It fails with [ErrClosed] when the
// store has been closed, and with a [*CompactedError] when the next changes have been forgotten: then the cursor is
// of no more use.
//
// To wait for changes among other things, call Changed first, and wait only after Poll has returned none.
func (c *Cursor) Poll() ([]*Event, error) {
	if c.store.closed.Load() {
		return nil, ErrClosed
	}
	var batch []*Event
	for e, err := range c.store.log.between(c.revision, c.store.log.revision.Load()) {
		if err != nil {
			if len(batch) > 0 {
				break // what was read is in order; the next call says the rest
			}
			return nil, err
		}
		c.revision = e.Record.Revision
		if strings.HasPrefix(e.Record.Key, c.prefix) {
			batch = append(batch, e)
			if len(batch) == maxBatch {
				break
			}
		}
	}
	return batch, nil
}

// Changed returns a channel that is closed by the next commit, to whatever key, and by Close.
func (c *Cursor) Changed() <-chan struct{} { return c.store.changes.next() }

// Next returns the next changes, 1024 at most, and waits until there is one. It fails as Poll does, and with the
// error of ctx when that ends before.
func (c *Cursor) Next(ctx context.Context) ([]*Event, error) {
	for ctx.Err() == nil {
		changed := c.Changed()
		if events, err := c.Poll(); len(events) > 0 || err != nil {
			return events, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return nil, ctx.Err()
}

// changes tells whoever waits that something has been committed. The zero value is ready.
//
// The channel is made by the first to wait, not before, so that a commit costs nothing when nobody does.
type changes struct {
	mu sync.Mutex
	ch chan struct{}
}

func (c *changes) next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ch == nil {
		c.ch = make(chan struct{})
	}
	return c.ch
}

func (c *changes) announce() {
	c.mu.Lock()
	ch := c.ch
	c.ch = nil
	c.mu.Unlock()
	if ch != nil {
		close(ch)
	}
}
