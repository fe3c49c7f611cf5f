package resource

import (
	"math"
	"sync"
	"time"

	"github.com/fakecluster/fakecluster/internal/cache"
	"github.com/fakecluster/fakecluster/store"
)

// Conversions has the results of a conversion webhook for one version. It takes the place of the watch cache that a real
// server has for each version: that cache has converted objects, so reads from it do not call the webhook, and while the
// webhook fails it stays behind and retries. Here failures are recorded when a request finds them. It is safe for
// concurrent use.
type Conversions struct {
	texts      *cache.Cache[int64, conversionText] // by revision
	generation int64                               // of the definition

	mu     sync.Mutex
	since  int64     // the revision of the definition; the cache starts with the objects of this revision
	began  bool      // something has been converted
	behind int64     // the revision of the object that keeps the cache from going on; 0: none
	failed time.Time // when that object could not be converted for the first time
	down   time.Time // when the cache was found not to be ready
}

// conversionText is the JSON of a record in the version.
type conversionText struct {
	stored string // the stored text; a dry run's record has the revision of the object that it would change
	text   string
}

const (
	conversionBytes = 16 << 20 // maximum size of the texts of a version
	// conversionPatience is how long the cache of a real server retries a change before it starts again with a list.
	conversionPatience = 30 * time.Second
)

// NewConversions returns the Conversions of a version for a definition with a generation and a revision. It returns
// former, which may be nil, if the generation is the same.
func NewConversions(generation, revision int64, former *Conversions) *Conversions {
	if former != nil && former.generation == generation {
		return former
	}
	return &Conversions{texts: cache.New[int64, conversionText](conversionBytes), generation: generation, since: revision}
}

// Text returns the JSON of a record in the version, if it has been converted. A nil Conversions has none.
func (c *Conversions) Text(record store.Record) (string, bool) {
	if c == nil || record.Revision == 0 {
		return "", false
	}
	c.mu.Lock()
	down := !c.down.IsZero()
	c.mu.Unlock()
	if down {
		return "", false // the cache of a real server starts again
	}
	known, ok := c.texts.Get(record.Revision)
	return known.text, ok && known.stored == record.Value
}

// Remember keeps the JSON of a record in the version.
func (c *Conversions) Remember(record store.Record, text string) {
	if c == nil || record.Revision == 0 {
		return
	}
	c.texts.Put(record.Revision, conversionText{record.Value, text}, len(text)+bytesOfAnything)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began = true
	if record.Revision >= c.behind {
		c.behind, c.down = 0, time.Time{}
	}
}

// Began reports whether anything has been converted, and nothing has failed since then.
func (c *Conversions) Began() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.began && c.behind == 0
}

// HasAny reports whether anything has been converted.
func (c *Conversions) HasAny() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.began
}

// IsBehind reports whether something could not be converted. A nil Conversions is not behind.
func (c *Conversions) IsBehind() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.behind != 0
}

// Behind reports whether the cache of a real server would be ready although objects from a revision on cannot be
// converted: for some time it has the state before that revision. If it is not ready, down is how long it has not been.
// A nil Conversions is never ready: without a webhook, unreadable objects have a version that was removed.
func (c *Conversions) Behind(revision int64) (ready bool, down time.Duration) {
	if c == nil {
		return false, 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.behind == 0 {
		c.failed = now
	}
	if c.behind == 0 || revision < c.behind {
		c.behind = revision
	}
	if revision > c.since && c.down.IsZero() && now.Sub(c.failed) <= conversionPatience {
		return true, 0
	}
	if c.down.IsZero() {
		c.down = now
	}
	return false, now.Sub(c.down)
}

// RetryAfter returns the seconds after which a client should retry when the cache has not been ready for the duration
// down (k8s.io/apiserver/pkg/storage/cacher/util.go).
func RetryAfter(down time.Duration) int {
	return int(min(30, max(1, math.Exp(0.06*down.Seconds()))))
}
