package faultinjection

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/bubble"
)

// Hold holds back the events of all watches until a test delivers them. It implements faults.Hold.
type Hold struct {
	engine *Engine
	serves Serves
	fail   func(error) // called with the error of a method
	ticks  int
	more   chan struct{} // receives when further events are held back
}

// More returns a channel that receives when further events are held back.
func (h *Hold) More() <-chan struct{} { return h.more }

// ErrHeld is the error of a second hold.
var ErrHeld = errors.New("the watch events are already held: release the other hold first")

// Hold begins to hold back events, of running and of later watches, but not the initial state of a watch. Methods of the
// Hold call fail with their errors. It returns ErrHeld if there is another Hold.
func (e *Engine) Hold(serves Serves, fail func(error)) (*Hold, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hold != nil {
		return nil, ErrHeld
	}
	e.hold = &Hold{engine: e, serves: serves, fail: fail, more: make(chan struct{}, 1)}
	e.setHold(e.hold)
	return e.hold, nil
}

// Holds reports whether a Hold is active.
func (e *Engine) Holds() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.hold != nil
}

// Release delivers all events, and ends the hold.
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

// deliver delivers the first n held events. The caller holds the lock.
func (w *Watch) deliver(n int) {
	for _, held := range w.held[:n] {
		w.release(held.event)
	}
	w.held = slices.Clone(w.held[n:])
	if n > 0 {
		w.awake()
	}
}

// Pending returns the held events in the order of the changes; those of one change in the order in which the watches
// began.
func (h *Hold) Pending() []faults.Delivery {
	e := h.engine
	e.mu.Lock()
	watches := slices.Clone(e.watches)
	e.mu.Unlock()
	var deliveries []faults.Delivery
	for _, w := range watches {
		deliveries = append(deliveries, w.pending(h)...)
	}
	slices.SortStableFunc(deliveries, func(a, b faults.Delivery) int { return cmp.Compare(a.Revision, b.Revision) })
	return deliveries
}

func (w *Watch) pending(h *Hold) []faults.Delivery {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hold != h || w.ended {
		return nil
	}
	w.pull()
	w.learn()
	if w.hold != h || w.ended {
		return nil // the watch has ended meanwhile
	}
	deliveries := make([]faults.Delivery, len(w.held))
	for i, held := range w.held {
		deliveries[i] = faults.Delivery{
			Resource: schema.GroupResource{Group: w.request.Group, Resource: w.request.Resource},
			User:     w.request.User, UserAgent: w.request.UserAgent, Watch: w.number,
			Type: watch.EventType(held.shown.Type), Namespace: held.shown.Namespace, Name: held.shown.Name,
			Revision: held.event.Record.Revision,
		}
	}
	return deliveries
}

// DeliverThese delivers events, each together with the earlier ones of its watch, and returns their number. It ignores
// events that are no longer held.
func (h *Hold) DeliverThese(events ...faults.Delivery) (delivered int) {
	h.engine.mu.Lock()
	byNumber := map[int64]*Watch{}
	for _, w := range h.engine.watches {
		byNumber[w.number] = w
	}
	h.engine.mu.Unlock()
	for _, d := range events {
		w := byNumber[d.Watch]
		if w == nil {
			continue // the watch has ended
		}
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

// Deliver delivers the first n events of Pending, and returns their number.
func (h *Hold) Deliver(n int) int {
	deliveries := h.Pending()
	return h.DeliverThese(deliveries[:max(0, min(n, len(deliveries)))]...)
}

// DeliverKind delivers all events of a resource, and returns their number.
func (h *Hold) DeliverKind(resource string) int {
	wanted := schema.ParseGroupResource(resource)
	if err := h.serves(wanted, "", "watch"); err != nil {
		h.fail(fmt.Errorf("DeliverKind: %w", err))
		return 0
	}
	return h.deliverIf(func(d faults.Delivery) bool { return d.Resource == wanted })
}

// DeliverTo delivers all events for watches whose user agent begins with a text, and returns their number.
func (h *Hold) DeliverTo(userAgent string) int {
	return h.deliverIf(func(d faults.Delivery) bool { return strings.HasPrefix(d.UserAgent, userAgent) })
}

func (h *Hold) deliverIf(picks func(faults.Delivery) bool) int {
	return h.DeliverThese(slices.DeleteFunc(h.Pending(), func(d faults.Delivery) bool { return !picks(d) })...)
}

// errNoBubble is the error of a tick outside of a bubble, where its end cannot be observed.
var errNoBubble = errors.New("Tick works only in a testing/synctest bubble, where it can wait until all clients are idle: use Deliver")

// Tick waits until all goroutines of the bubble are blocked, delivers all held events, and waits again.
func (h *Hold) Tick() int {
	if !bubble.Inside() {
		h.fail(errNoBubble)
		return 0
	}
	synctest.Wait()
	n := h.DeliverThese(h.Pending()...)
	synctest.Wait()
	if n > 0 {
		h.ticks++
	}
	return n
}

// Ticks returns the number of ticks that have delivered something.
func (h *Hold) Ticks() int { return h.ticks }

// Drain ticks until nothing is held back, and returns the number of ticks. It fails after most ticks.
func (h *Hold) Drain(most int) int {
	for n := range most + 1 {
		if h.Tick() == 0 {
			return n
		}
	}
	var left []string
	for _, d := range h.Pending() {
		left = append(left, d.String())
	}
	h.fail(fmt.Errorf("Drain: events are still held back after %d ticks, because clients answer each event with another change: %s", most, strings.Join(left, ", ")))
	return most + 1
}
