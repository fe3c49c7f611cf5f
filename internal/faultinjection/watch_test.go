package faultinjection

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
	"github.com/fakecluster/fakecluster/store"
)

// follow reads a watch as package rest does, until it fails.
func follow(w *Watch, into *[]int64) error {
	defer w.End()
	for {
		changed := w.Changed()
		if w.Broken() {
			return ErrDropped
		}
		events, err := w.Poll()
		if err != nil {
			return err
		}
		for _, e := range events {
			*into = append(*into, e.Record.Revision)
			if w.Sent() {
				return ErrDropped
			}
		}
		if len(events) > 0 {
			continue
		}
		var late <-chan time.Time
		if due, ok := w.Due(); ok {
			late = time.After(time.Until(due))
		}
		select {
		case <-changed:
		case <-w.Wake():
		case <-late:
		}
	}
}

// Whatever holds events back, each watch gets all of them, once and in order.
func TestEventsComeOnceAndInOrder(t *testing.T) {
	random := seedtest.Rand(t)
	for range 60 {
		synctest.Test(t, func(t *testing.T) {
			s, err := store.Open(store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			e := &Engine{Store: s}
			shows := func(*store.Event) (Shown, error) { return Shown{Type: "ADDED"}, nil }
			var seen [3][]int64
			done := make(chan error, len(seen))
			for i := range seen {
				cursor, err := s.Watch("/", 1)
				if err != nil {
					t.Fatal(err)
				}
				w := e.Watch(Request{Verb: "watch", Resource: fmt.Sprint("r", i)}, Source{Cursor: cursor, Shows: shows})
				go func() { done <- follow(w, &seen[i]) }()
			}
			var want []int64
			var hold *Hold
			var delay *Injection
			for n := range 200 {
				switch random.IntN(12) {
				case 0:
					if hold == nil {
						if hold, err = e.Hold(anything, func(err error) { t.Error(err) }); err != nil {
							t.Fatal(err)
						}
					}
				case 1:
					if hold != nil {
						hold.Release()
						hold = nil
					}
				case 2:
					if hold != nil {
						pending := hold.Pending()
						if !slices.IsSortedFunc(pending, func(a, b faults.Delivery) int { return int(a.Revision - b.Revision) }) {
							t.Error("what is pending is not in order")
						}
						if len(pending) > 0 {
							hold.DeliverThese(pending[random.IntN(len(pending))])
						}
					}
				case 3:
					if delay == nil {
						delay = inject(t, e, faults.Fault{Effect: faults.DelayWatch(time.Duration(1+random.IntN(5)) * time.Second)})
					}
				case 4:
					if delay != nil {
						delay.Stop()
						delay = nil
					}
				case 5:
					if err := e.Compact(); err != nil {
						t.Fatal(err)
					}
				case 6:
					time.Sleep(time.Duration(random.IntN(3)) * time.Second)
				case 7:
					synctest.Wait()
				default:
					record, err := s.Create(fmt.Sprint("/", n), store.Write{})
					if err != nil {
						t.Fatal(err)
					}
					want = append(want, record.Revision)
				}
			}
			if hold != nil {
				hold.Release()
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			for i := range seen {
				if !slices.Equal(seen[i], want) {
					t.Errorf("watch %d has seen %v, want %v", i, seen[i], want)
				}
			}
			_ = s.Close()
			for range seen {
				if err := <-done; !errors.Is(err, store.ErrClosed) {
					t.Error(err)
				}
			}
		})
	}
}

func TestTheHoldsOfAnEngineAreOneAtATime(t *testing.T) {
	s, err := store.Open(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e := &Engine{Store: s}
	h, err := e.Hold(anything, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Hold(anything, func(err error) { t.Error(err) }); err != ErrHeld {
		t.Error(err)
	}
	h.Release()
	h.Release()
	if _, err := e.Hold(anything, func(err error) { t.Error(err) }); err != nil {
		t.Error(err)
	}
}

// A watch that a fault expires ends once the history is compacted, not before: its end names the
// revision that the history reaches back to. A reader that asks all the time would see another one.
func TestAWatchExpiresOnceTheHistoryIsCompacted(t *testing.T) {
	for range 200 {
		s, err := store.Open(store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e := &Engine{Store: s}
		if _, err := s.Create("/a", store.Write{}); err != nil {
			t.Fatal(err)
		}
		cursor, err := s.Watch("/", 2)
		if err != nil {
			t.Fatal(err)
		}
		w := e.Watch(Request{Verb: "watch", Resource: "r"}, Source{Cursor: cursor})
		end := make(chan error)
		go func() {
			defer w.End()
			for {
				if _, err := w.Poll(); err != nil {
					end <- err
					return
				}
			}
		}()
		inject(t, e, faults.Fault{Times: 1, Effect: faults.ExpireWatch()})
		var compacted *store.CompactedError
		if err := <-end; !errors.As(err, &compacted) || *compacted != (store.CompactedError{Requested: 2, Oldest: 2}) {
			t.Fatalf("the watch ends with %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
