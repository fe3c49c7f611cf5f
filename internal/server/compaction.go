package server

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fakecluster/fakecluster/store"
)

// compaction makes old lists expire, as kube-apiserver does by compacting etcd
// (k8s.io/apiserver/pkg/storage/etcd3/compact.go): at the end of each interval, lists from before its beginning expire.
// A watch from an older revision still starts, as from the watch cache of a real server, while the store has that
// revision in its history; if the resource has no watch cache, it expires too. Between two compactions there is a timer,
// but no goroutine.
type compaction struct {
	interval time.Duration
	store    *store.Store
	fail     func(message string)
	expired  atomic.Int64 // lists, and watches without a watch cache, expire before this revision

	mu       sync.Mutex // held during a compaction
	timer    *time.Timer
	stopped  bool
	revision int64 // at the end of the previous interval; 0: none
}

// compactRevKey is upstream's key for the revision to which the history was compacted last. It is not below
// /registry, so that no list or watch shows it.
const compactRevKey = "compact_rev_key"

// start begins the first interval. It does nothing if the interval is 0.
func (c *compaction) start() {
	if c.interval <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, err := c.store.Get(compactRevKey); err == nil { // another server has used the store
		expired, _ := strconv.ParseInt(last.Value, 10, 64)
		c.expired.Store(expired)
	}
	c.timer = time.AfterFunc(c.interval, c.compact)
}

// compact ends an interval and begins the next one.
func (c *compaction) compact() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return
	}
	to := max(c.revision, c.expired.Load())
	if err := c.mark(to); err == nil {
		c.expired.Store(to)
	} else if !errors.Is(err, store.ErrClosed) {
		c.fail(fmt.Sprintf("compacting the history to revision %d: %v", to, err))
	}
	c.timer.Reset(c.interval)
}

// mark writes a revision to upstream's key. This makes a new revision at the end of each interval, so that lists expire
// even if there are no other writes.
func (c *compaction) mark(to int64) error {
	w := store.Write{Make: func(int64) string { return strconv.FormatInt(to, 10) }}
	record, err := c.store.Get(compactRevKey)
	switch {
	case err == nil:
		record, err = c.store.Update(compactRevKey, record.Revision, w)
	case errors.Is(err, store.ErrNotFound):
		record, err = c.store.Create(compactRevKey, w)
	}
	if err == nil {
		c.revision = record.Revision
	}
	return err
}

// stop ends the compactions, and waits for one that is in progress.
func (c *compaction) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	if c.timer != nil {
		c.timer.Stop()
	}
}
