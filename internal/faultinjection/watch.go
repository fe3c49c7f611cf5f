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

// ErrDropped is the end of a watch whose connection breaks.
var ErrDropped = errors.New("the connection of the watch is cut off")

// Shown is an event as a watch shows it.
type Shown struct {
	Type            string // ADDED, MODIFIED or DELETED; empty: the watch does not show the event
	Namespace, Name string
}

// Source is where a watch has its events from, and how it shows them.
type Source struct {
	// Cursor reads the changes of the objects.
	Cursor *store.Cursor
	// Definition reads the changes of the definition of the resource; nil: it does not have one. Ends reports
	// whether such a change ends the watch. It is called under the locks of the watch.
	Definition *store.Cursor
	Ends       func(*store.Event) bool
	// Shows returns how the watch shows an event. It may call a conversion webhook, and is called
	// without locks, by several goroutines.
	Shows func(*store.Event) (Shown, error)
	// Report is called with each fault that strikes the watch; nil: nobody observes it.
	Report func(what string)
}

// Watch is a running watch. It reads the events of a source: at once, or later if faults delay them
// or a [Hold] keeps them back. It ends behind the last event from before the change of its definition.
type Watch struct {
	Source
	engine  *Engine
	request Request
	number  int64 // watches are numbered as they begin

	wake chan struct{} // has room for one

	mu   sync.Mutex
	hold *Hold // nil: none
	// held are the events that wait for the hold, late those that wait for their time. All of late
	// come before all of held.
	held   []*heldEvent
	late   []lateEvent
	delays []*Injection
	drops  []*dropping
	// expiry ends the watch by a compaction; nil: none. expired is the end, once the history is compacted.
	expiry  *Injection
	expired *store.CompactedError
	failed  error // of the source, after the events that it has read before
	last    int64 // the revision that changes the definition; 0: none has
	ended   bool
}

// heldEvent is an event that waits for the hold. Those that the watch does not show are taken out
// once that is decided.
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

// End says that the watch is over. What has been held back from it is forgotten.
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

// mayStrike lets a fault strike the watch if it matches. The caller holds the lock of the engine.
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

// struckBy says that a fault has its effect. The caller holds the lock.
func (w *Watch) struckBy(i *Injection) {
	i.keep()
	if w.Report != nil {
		w.Report(i.fault.Effect.String())
	}
}

// spare takes a fault off the watch. Events that it has delayed already come when they are due.
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

// compactFor compacts the history if a fault ends one of the watches by that. Before, every watch
// reads what it would lose: only those end that a fault strikes. The caller holds the lock.
func (e *Engine) compactFor(watches ...*Watch) {
	if slices.ContainsFunc(watches, func(w *Watch) bool { return w.expiry != nil }) {
		_ = e.compact() // if the store is closed, all watches end; if its file takes no more, they go on
	}
}

// Compact forgets the history up to now, as a compaction of etcd does. Watches that run go on.
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

// awake makes the reader of the watch poll again. The caller holds the lock.
func (w *Watch) awake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Changed returns a channel that is closed by the next commit to any key.
func (w *Watch) Changed() <-chan struct{} { return w.Cursor.Changed() }

// Wake returns a channel that gets a value when the events, or the end, of the watch may have changed.
func (w *Watch) Wake() <-chan struct{} { return w.wake }

// Poll returns the next events that the client may see, or none. It fails as the cursors do,
// or with a CompactedError if a fault ends the watch.
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

// Over reports whether the watch has to end: its definition has changed, and Poll has returned all
// events from before.
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
	// What comes before the change of the definition is there once the change is.
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

// readDefinition finds out whether the definition has changed. The caller holds the lock.
func (w *Watch) readDefinition() error {
	if w.Definition == nil {
		return nil
	}
	changes, err := w.Definition.Poll()
	if err != nil && !errors.Is(err, store.ErrClosed) { // the cursor of the objects returns that error
		return err
	}
	if n := slices.IndexFunc(changes, w.Ends); n >= 0 {
		w.last = changes[n].Record.Revision
	}
	return nil
}

// pull reads what the source has. What the hold does not keep back becomes late, with no delay if
// no fault delays it. The caller holds the lock.
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

// learn finds out how the watch shows the events that are held, and takes those out that it does not
// show. The caller holds the lock, and does not hold it while a webhook is called: what is held may be
// delivered meanwhile.
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
			continue // it has been delivered, or somebody else has found out as well
		}
		if err == nil && shown.Type == "" { // an error is for the client
			w.held = slices.Delete(w.held, n, n+1)
			continue
		}
		held.decided, held.shown = true, shown
		select {
		case w.hold.more <- struct{}{}:
		default: // nobody has looked since the last one
		}
	}
}

// firstUndecided returns the index of the first held event for which it is not decided whether the
// watch shows it. The caller holds the lock.
func (w *Watch) firstUndecided() int {
	return sort.Search(len(w.held), func(i int) bool { return !w.held[i].decided })
}

// release lets an event come when its delay is over. The caller holds the lock.
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

// Due returns when the next delayed event comes; ok is false if none waits.
func (w *Watch) Due() (due time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.late) == 0 {
		return time.Time{}, false
	}
	return w.late[0].due, true
}

// Revision returns the revision up to which the client has seen all changes.
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

// Broken reports whether the connection breaks now.
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

// Sent counts an event that the client has been sent, and reports whether the connection breaks now.
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
