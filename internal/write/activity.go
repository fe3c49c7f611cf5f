package write

import (
	"sync"

	"github.com/fakecluster/fakecluster/store"
)

// Activity counts the writes in flight, each with the writes of the controllers that follow from it. So a fork can find out
// which commits of its origin the controllers may not have handled yet. A nil Activity counts nothing.
type Activity struct {
	store *store.Store

	mu       sync.Mutex
	active   int
	complete int64 // the last revision at which no write was in flight; 0: none
}

// NewActivity returns the activity of the writers of a store.
func NewActivity(s *store.Store) *Activity { return &Activity{store: s} }

// Begin records that a write begins. The caller must call End.
func (a *Activity) Begin() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.note()
	a.active++
}

// End records that a write has ended, together with the controllers.
func (a *Activity) End() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.active--
	a.note()
}

// Complete returns a revision up to which the controllers have handled every commit with writes that are not newer than
// the given revision; 0: none is known. It is the given revision itself if no write was in flight then.
func (a *Activity) Complete(revision int64) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.note()
	if a.complete > revision {
		return 0
	}
	return a.complete
}

// note keeps the current revision if no write is in flight.
func (a *Activity) note() {
	if a.active == 0 {
		a.complete = a.store.Revision()
	}
}
