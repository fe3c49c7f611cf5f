package faultinjection

import (
	"errors"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/store"
)

// ErrDropped is the error of a watch whose connection is cut.
var ErrDropped = errors.New("the connection of the watch is cut off")

// Shown is an event in the form of a watch.
type Shown struct {
	Type            string // ADDED, MODIFIED or DELETED; empty: the watch does not show the event
	Namespace, Name string
}

// Source provides the events of a watch, and their form.
type Source struct {
	// Cursor reads the changes of the objects.
	Cursor *store.Cursor
	// Definition reads the changes of the resource's definition; nil: it has none. Ends reports whether such a change
	// ends the watch. It is called under the locks of the watch.
	Definition *store.Cursor
	Ends       func(*store.Event) bool
	// Shows returns the form of an event. It may call a conversion webhook, and is called without locks, by several
	// goroutines.
	Shows func(*store.Event) (Shown, error)
	// Report is called with each fault that strikes the watch; may be nil.
	Report func(what string)
}

// Watch is a running watch. It reads the events of a source: at once, or later if faults delay them or a [Hold] holds
// them back. It ends after the last event before the change of its definition.
type Watch struct {
	Source
	engine  *Engine
	request Request
	number  int64 // watches are numbered as they begin

	wake chan struct{} // has room for one

	mu   sync.Mutex
	hold *Hold // nil: none
	// held has the events that wait for the hold, late those that wait for their time. All of late precede all of held.
	held   []*heldEvent
	late   []lateEvent
	delays []*Injection
	drops  []*dropping
	// expiry is the fault that ends the watch by a compaction; nil: none. expired is its error, after the compaction.
	expiry  *Injection
	expired *store.CompactedError
	failed  error // of the source; returned after the events read before
	last    int64 // the revision of the change of the definition; 0: none
	ended   bool
}

// heldEvent is an event that waits for the hold. Events that the watch does not show are removed when that is known.
type heldEvent struct {
	event   *store.Event
	decided bool // whether shown is set
	shown   Shown
}

type lateEvent struct {
	event *store.Event
	due   time.Time
}

// dropping is a fault that ends the watch after some further events.
type dropping struct {
	by   *Injection
	left int
}

// Watch registers a watch until its End.
func (e *Engine) Watch(r Request, from Source) *Watch {
	w := &Watch{Source: from, engine: e, request: r, wake: make(chan struct{}, 1)}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begun++
	w.number, w.hold = e.begun, e.hold
	e.watches = append(e.watches, w)
	for _, i := range e.inForce() {
		if strikesWatches(&i.fault) {
			w.mayStrike(i)
		}
	}
	e.compactFor(w)
	return w
}

// End ends the watch, and discards its held events.
func (w *Watch) End() {
	w.engine.mu.Lock()
	w.engine.watches = slices.DeleteFunc(w.engine.watches, func(other *Watch) bool { return other == w })
	w.engine.mu.Unlock()

	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended, w.held, w.late = true, nil, nil
	for _, d := range w.drops {
		d.by.refund()
	}
	w.drops = nil
}

// mayStrike makes a fault strike the watch if it matches. The caller holds the lock of the engine.
func (w *Watch) mayStrike(i *Injection) {
	if !i.take(&w.request) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch i.fault.Effect.Type {
	case faults.EffectDropWatch:
		w.drops = append(w.drops, &dropping{i, i.fault.Effect.Count})
	case faults.EffectDelayWatch:
		w.delays = append(w.delays, i)
		w.struckBy(i)
	case faults.EffectExpireWatch:
		if w.expiry != nil {
			i.refund()
			return
		}
		w.expiry = i
		w.struckBy(i)
	}
	w.awake()
}

// struckBy records that a fault has its effect. The caller holds the lock.
func (w *Watch) struckBy(i *Injection) {
	i.keep()
	if w.Report != nil {
		w.Report(i.fault.Effect.String())
	}
}

// spare removes a fault from the watch. Events that it has already delayed still come when they are due.
func (w *Watch) spare(i *Injection) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delays = slices.DeleteFunc(w.delays, func(other *Injection) bool { return other == i })
	w.drops = slices.DeleteFunc(w.drops, func(d *dropping) bool {
		if d.by == i {
			i.refund()
		}
		return d.by == i
	})
}

// compactFor compacts the history if a fault ends one of the watches by that. Before that, every watch reads what it
// would lose, so that only struck watches end. The caller holds the lock.
func (e *Engine) compactFor(watches ...*Watch) {
	if slices.ContainsFunc(watches, func(w *Watch) bool { return w.expiry != nil }) {
		_ = e.compact() // if the store is closed, all watches end anyway; if its file cannot be written, they continue
	}
}

// Compact discards the history up to now, as a compaction of etcd does. Running watches continue.
func (e *Engine) Compact() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.compact()
}

func (e *Engine) compact() error {
	for _, w := range e.watches {
		w.mu.Lock()
		defer w.mu.Unlock()
	}
	to := e.Store.Revision()
	for _, w := range e.watches {
		w.pull()
	}
	if err := e.Store.Compact(to); err != nil {
		return err
	}
	for _, w := range e.watches {
		if w.expiry != nil && w.expired == nil {
			w.expired = &store.CompactedError{Requested: w.revision(), Oldest: to}
			w.awake()
		}
	}
	return nil
}

// awake wakes the reader of the watch. The caller holds the lock.
func (w *Watch) awake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Changed returns a channel that is closed by the next commit to any key.
func (w *Watch) Changed() <-chan struct{} { return w.Cursor.Changed() }

// Wake returns a channel that receives when the watch may have events or may have ended.
func (w *Watch) Wake() <-chan struct{} { return w.wake }

// Poll returns the next events for the client, or none. It fails as the cursors do, or with a CompactedError if a fault
// ends the watch.
func (w *Watch) Poll() ([]*store.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.expired != nil {
		return nil, w.expired
	}
	if w.hold == nil && len(w.held) == 0 && len(w.late) == 0 && len(w.delays) == 0 && w.failed == nil {
		return w.read()
	}
	w.pull()
	w.learn()
	now := time.Now()
	var ready []*store.Event
	for len(w.late) > 0 && !w.late[0].due.After(now) {
		ready, w.late = append(ready, w.late[0].event), w.late[1:]
	}
	if len(ready) == 0 && len(w.late) == 0 && len(w.held) == 0 {
		return nil, w.failed
	}
	return ready, nil
}

// Over reports whether the watch must end: its definition has changed, and Poll has returned all earlier events.
func (w *Watch) Over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last > 0 && w.Cursor.Revision() >= w.last && len(w.late) == 0 && len(w.held) == 0
}

// read returns the next events of the source. The caller holds the lock.
func (w *Watch) read() ([]*store.Event, error) {
	events, err := w.Cursor.Poll()
	if err != nil {
		return nil, err
	}
	// Events before the change of the definition are available when the change is.
	if former := w.last; former == 0 {
		if err := w.readDefinition(); err != nil {
			return nil, err
		}
		if w.last > former && len(events) == 0 {
			if events, err = w.Cursor.Poll(); err != nil {
				return nil, err
			}
		}
	}
	if w.last > 0 {
		if n := slices.IndexFunc(events, func(e *store.Event) bool { return e.Record.Revision > w.last }); n >= 0 {
			events = events[:n]
		}
	}
	return events, nil
}

// readDefinition checks whether the definition has changed. The caller holds the lock.
func (w *Watch) readDefinition() error {
	if w.Definition == nil {
		return nil
	}
	changes, err := w.Definition.Poll()
	if err != nil && !errors.Is(err, store.ErrClosed) { // the cursor of the objects returns this error
		return err
	}
	if n := slices.IndexFunc(changes, w.Ends); n >= 0 {
		w.last = changes[n].Record.Revision
	}
	return nil
}

// pull reads the events of the source. Events that the hold does not hold back are appended to late, without a delay if
// no fault delays them. The caller holds the lock.
func (w *Watch) pull() {
	for w.failed == nil {
		events, err := w.read()
		w.failed = err
		if len(events) == 0 {
			break
		}
		for _, e := range events {
			if w.hold == nil {
				w.release(e)
			} else {
				w.held = append(w.held, &heldEvent{event: e})
			}
		}
	}
}

// learn gets the form of the held events, and removes those that the watch does not show. The caller holds the lock;
// learn releases it while it calls Shows, so that held events may be delivered meanwhile.
func (w *Watch) learn() {
	for !w.ended {
		n := w.firstUndecided()
		if n == len(w.held) {
			return
		}
		held := w.held[n]
		w.mu.Unlock()
		shown, err := w.Shows(held.event)
		w.mu.Lock()
		if n = w.firstUndecided(); n == len(w.held) || w.held[n] != held {
			continue // delivered or decided meanwhile
		}
		if err == nil && shown.Type == "" { // the client gets an error
			w.held = slices.Delete(w.held, n, n+1)
			continue
		}
		held.decided, held.shown = true, shown
		select {
		case w.hold.more <- struct{}{}:
		default: // the channel has a value
		}
	}
}

// firstUndecided returns the index of the first held event that is not decided. The caller holds the lock.
func (w *Watch) firstUndecided() int {
	return sort.Search(len(w.held), func(i int) bool { return !w.held[i].decided })
}

// release appends an event to late, with its delay. The caller holds the lock.
func (w *Watch) release(e *store.Event) {
	var by time.Duration
	for _, i := range w.delays {
		by = max(by, i.fault.Effect.Duration)
	}
	due := time.Now().Add(by)
	if n := len(w.late); n > 0 && w.late[n-1].due.After(due) {
		due = w.late[n-1].due // events keep their order
	}
	w.late = append(w.late, lateEvent{e, due})
}

// Due returns when the next delayed event is due. ok is false if none waits.
func (w *Watch) Due() (due time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.late) == 0 {
		return time.Time{}, false
	}
	return w.late[0].due, true
}

// Revision returns the revision up to which the client has got all changes.
func (w *Watch) Revision() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.revision()
}

func (w *Watch) revision() int64 {
	switch {
	case len(w.late) > 0:
		return w.late[0].event.Record.Revision - 1
	case len(w.held) > 0:
		return w.held[0].event.Record.Revision - 1
	}
	return w.Cursor.Revision()
}

// Broken reports whether the connection must be cut now.
func (w *Watch) Broken() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken()
}

func (w *Watch) broken() bool {
	for n, d := range w.drops {
		if d.left == 0 {
			w.struckBy(d.by)
			w.drops = slices.Delete(w.drops, n, n+1)
			return true
		}
	}
	return false
}

// Sent counts an event that was sent to the client, and reports whether the connection must be cut now.
func (w *Watch) Sent() (broken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.drops) == 0 {
		return false
	}
	for _, d := range w.drops {
		d.left = max(d.left-1, 0)
	}
	return w.broken()
}
