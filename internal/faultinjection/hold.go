package faultinjection

import (
	"cmp"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Hold keeps the events of all watches back until a test delivers them.
type Hold struct {
	engine *Engine
	more   chan struct{} // has a value when events are held that were not before
}

// More returns a channel that gets a value when events are held back that were not before.
func (h *Hold) More() <-chan struct{} { return h.more }

// Delivery is an event that is held back from a watch.
type Delivery struct {
	Request  Request // of the watch
	Shown    Shown
	Revision int64
	watch    *Watch
}

// Watch returns the number of the watch: watches are numbered as they begin.
func (d Delivery) Watch() int64 { return d.watch.number }

// Resource returns the resource that the watch is of.
func (d Delivery) Resource() schema.GroupResource {
	return schema.GroupResource{Group: d.Request.Group, Resource: d.Request.Resource}
}

// ErrHeld is the error of a second hold.
var ErrHeld = errors.New("the watch events are held already: release the other hold first")

// Hold begins to keep events back, from the watches that run and from those that will begin. The
// state that a watch begins with is not kept back.
func (e *Engine) Hold() (*Hold, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hold != nil {
		return nil, ErrHeld
	}
	e.hold = &Hold{e, make(chan struct{}, 1)}
	e.setHold(e.hold)
	return e.hold, nil
}

// Release delivers everything, and ends the hold.
func (h *Hold) Release() {
	e := h.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hold == h {
		e.hold = nil
		e.setHold(nil)
	}
}

// setHold begins or ends a hold of all watches. The caller holds the lock.
func (e *Engine) setHold(h *Hold) {
	for _, w := range e.watches {
		w.mu.Lock()
		if h == nil {
			w.pull()
			w.deliver(len(w.held))
		}
		w.hold = h
		w.mu.Unlock()
	}
}

// deliver lets the first events that are held go. The caller holds the lock.
func (w *Watch) deliver(n int) {
	for _, held := range w.held[:n] {
		w.release(held.event)
	}
	w.held = slices.Clone(w.held[n:])
	if n > 0 {
		w.awake()
	}
}

// Pending returns what is held back: in the order of the changes, and of one change in the order
// in which the watches began.
func (h *Hold) Pending() []Delivery {
	e := h.engine
	e.mu.Lock()
	watches := slices.Clone(e.watches)
	e.mu.Unlock()
	var all []Delivery
	for _, w := range watches {
		all = append(all, w.pending(h)...)
	}
	slices.SortStableFunc(all, func(a, b Delivery) int { return cmp.Compare(a.Revision, b.Revision) })
	return all
}

func (w *Watch) pending(h *Hold) []Delivery {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hold != h || w.ended {
		return nil
	}
	w.pull()
	w.learn()
	if w.hold != h || w.ended {
		return nil // since it has been asked
	}
	all := make([]Delivery, len(w.held))
	for i, held := range w.held {
		all[i] = Delivery{Request: w.request, Shown: held.shown, Revision: held.event.Record.Revision, watch: w}
	}
	return all
}

// Deliver delivers events, each together with those that are before it in its watch, and returns how
// many these are. An event that is not held any more is left out.
func (h *Hold) Deliver(events ...Delivery) (delivered int) {
	for _, d := range events {
		w := d.watch
		w.mu.Lock()
		n := 0
		for n < len(w.held) && w.held[n].event.Record.Revision <= d.Revision {
			n++
		}
		if w.hold == h && !w.ended {
			w.deliver(n)
			delivered += n
		}
		w.mu.Unlock()
	}
	return delivered
}
