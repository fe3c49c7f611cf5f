package rest

import (
	"errors"
	"time"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// lateChanges are the changes of a watch that wait because the first of them cannot be converted. The watch tries again
// at the next change, and from time to time. The zero value has none.
type lateChanges struct {
	changes []*store.Event
	timer   *time.Timer
	pause   time.Duration
}

// The pauses between two conversions of a change. A real server makes none.
const (
	shortestPause = 10 * time.Millisecond
	longestPause  = time.Second
)

// errCacheBegins ends a watch without an error event, as when the cache of a real server is initialized
// again.
var errCacheBegins = errors.New("the watch cache is initialized again")

// isCorrupt reports whether an object could not be converted.
func isCorrupt(err error) bool {
	var corrupt *resource.CorruptError
	return errors.As(err, &corrupt)
}

// wait keeps changes for a later try. It fails with errCacheBegins if they have waited for too long.
func (l *lateChanges) wait(c *resource.Conversions, changes []*store.Event) error {
	if ready, _ := c.Behind(changes[0].Record.Revision); !ready {
		return errCacheBegins
	}
	l.changes, l.pause = changes, min(max(shortestPause, 2*l.pause), longestPause)
	l.timer = time.NewTimer(l.pause)
	return nil
}

// take removes and returns the changes that wait.
func (l *lateChanges) take() []*store.Event {
	changes := l.changes
	l.changes = nil
	if l.timer != nil {
		l.timer.Stop()
	}
	return changes
}

// due returns a channel that receives when to try again; nil: nothing waits.
func (l *lateChanges) due() <-chan time.Time {
	if len(l.changes) == 0 {
		return nil
	}
	return l.timer.C
}

// stop forgets how long changes have waited.
func (l *lateChanges) stop() {
	l.take()
	l.pause = 0
}
