package store

import (
	"context"
	"strings"
	"sync"
)

// maxBatch is the largest number of events that a cursor returns at once.
const maxBatch = 1024

// Cursor reads the changes to the keys of a prefix: each once, in the order of their revisions. It is a place in the
// history and holds no resources, so it need not be closed. Only one goroutine at a time may use it.
type Cursor struct {
	store    *Store
	prefix   string
	revision int64
}

// Watch returns a cursor that reads the changes after a revision. Revision 0 means the newest. It fails with a
// [*CompactedError] if the revision is before [Store.Oldest], and with a [*FutureError] if it is after
// [Store.Revision].
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

// Poll returns the next changes, at most 1024, or none if there are none yet. It does not wait. It fails with
// [ErrClosed] when the store has been closed, and with a [*CompactedError] when the store has forgotten the next
// changes; then the cursor cannot be used any more.
//
// To wait for changes and for something else in one select, call Changed first, then Poll, and wait only if Poll has
// returned none.
func (c *Cursor) Poll() ([]*Event, error) {
	if c.store.closed.Load() {
		return nil, ErrClosed
	}
	var batch []*Event
	for e, err := range c.store.log.between(c.revision, c.store.log.revision.Load()) {
		if err != nil {
			if len(batch) > 0 {
				break // return what has been read; the next call returns the error
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

// Changed returns a channel that is closed by the next commit to any key, and by Close.
func (c *Cursor) Changed() <-chan struct{} { return c.store.changes.next() }

// Next waits until there are changes and returns them, at most 1024. It fails as Poll does, and with the error of ctx
// when ctx ends.
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

// changes announces commits to those who wait for one. The zero value is ready.
//
// The first watcher that waits makes the channel, so that a commit without waiting
// watchers costs nothing.
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
