package fakecluster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/testing/consistency"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// The guarantees of a watch, checked on random histories: 8 writers, and 50 watchers that
// begin, select and look in different ways, lose their connections and come back. See
// package readtest for what each of them has to see.
//
// Outside of a bubble the scheduler decides in which order the requests come, so that a seed
// repeats who asks for what, and no more. Such a failure shows the watcher that saw something else,
// and what; it cannot be shortened by playing it again. Those in bubbles are.
func TestAllWatchersSeeTheSameHistory(t *testing.T) {
	concurrently := func(t *testing.T, ws *consistency.Writers, options ...fakecluster.Option) {
		ws.Seed = seedtest.Seed(t)
		saw := watchersSeeTheOneHistory(t, ws, false, options...)
		t.Log(saw)
		// The rarest strike about seven times in 400 writes, so that one run in a thousand goes without one of them.
		if len(saw.missed) > 1 {
			t.Errorf("never: %v", saw.missed)
		}
	}
	t.Run("over HTTP", func(t *testing.T) { concurrently(t, &consistency.Writers{Count: 8, Each: 50}) })
	t.Run("in process", func(t *testing.T) {
		concurrently(t, &consistency.Writers{Count: 8, Each: 50}, fakecluster.InProcess())
	})
	t.Run("with faults", func(t *testing.T) { concurrently(t, &consistency.Writers{Count: 8, Each: 50, Faults: true}) })

	// By the clock of a bubble, bookmarks come once a minute, and watches time out.
	pause := func(random *rand.Rand) time.Duration { return time.Duration(random.Int64N(int64(2 * time.Minute))) }
	t.Run("with bookmarks and timeouts", func(t *testing.T) {
		var saw seen
		replayed(t, &consistency.Writers{Seed: seedtest.Seed(t), Count: 8, Each: 30, Pause: pause}, func(t testing.TB, ws *consistency.Writers) {
			saw = watchersSeeTheOneHistory(t, ws, false, fakecluster.InProcess())
		})
		if t.Log(saw); saw.bookmarks < 100 {
			t.Errorf("only %d bookmarks", saw.bookmarks)
		}
	})
	t.Run("with faults, compaction and expired watches", func(t *testing.T) {
		var saw seen
		replayed(t, &consistency.Writers{Seed: seedtest.Seed(t), Count: 8, Each: 30, Pause: pause, Faults: true}, func(t testing.TB, ws *consistency.Writers) {
			saw = watchersSeeTheOneHistory(t, ws, true, fakecluster.InProcess(), fakecluster.WithSeed(ws.Seed))
		})
		if t.Log(saw); saw.expired < 10 {
			t.Errorf("only %d watches have ended with 410", saw.expired)
		}
	})
}

// seen counts what watchers have seen.
type seen struct {
	requests, changes, events, bookmarks, watches, expired int

	missed []faults.Fault // those that have struck nothing
}

func (s seen) String() string {
	return fmt.Sprintf("%d requests, %d changes, %d events, %d bookmarks, %d watches, %d of them expired", s.requests, s.changes, s.events, s.bookmarks, s.watches, s.expired)
}

// watchersSeeTheOneHistory lets watchers watch while writers write. It may do so while the past is
// forgotten and watches expire.
func watchersSeeTheOneHistory(t testing.TB, writers *consistency.Writers, expiring bool, way ...fakecluster.Option) (saw seen) {
	const watchers = 50
	c, err := fakecluster.New(way...)
	must(t, err)
	defer c.Close()
	define(t, c, consistency.Definition())
	w := newWire(t, c)
	writers.Wire = w
	start, err := consistency.Revision(t.Context(), w)
	must(t, err)
	resuming := w // the watchers that can go on when they are dropped
	var injected []faults.Injection
	if writers.Faults {
		writers.Wire.Agent, resuming.Agent = "writer", "resuming"
		injected = append(faultsOfWrites(c, "writer"), faultsOfReads(c, "resuming")...)
	}

	limit := 2 * time.Minute // between failing and hanging
	if writers.Pause != nil {
		limit = 12 * time.Hour // by the clock of the bubble
	}
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	var workers sync.WaitGroup
	reports := make([]consistency.Report, watchers)
	random := seedtest.Source(writers.Seed, 1000)
	for n := range reports {
		v := consistency.RandomQuery(random, n, writers.Count*writers.Each)
		if writers.Pause != nil && v.Breaks > 0 {
			v.Timeout = 30 + random.IntN(300)
		}
		back := random.Int64()
		w := w
		if v.Breaks > 0 {
			w, v.Faults = resuming, writers.Faults
		}
		if v.Start == consistency.FromMiddle {
			v.Faults = writers.Faults // its revision may have been compacted
		}
		workers.Go(func() {
			var err error
			reports[n], err = v.Watch(ctx, w, start, writers.After(v.Gate), func() int { return writers.SomeRevision(start, back) })
			if err != nil {
				t.Errorf("watcher %d, %+v: %v", n, v, err)
			}
		})
	}
	var h *consistency.History
	workers.Go(func() {
		var err error
		if h, err = consistency.Record(ctx, w, start); err != nil {
			t.Errorf("recording: %v", err)
		}
	})
	calm := func() {}
	if expiring {
		calm = expireWatches(t, c, writers.Seed, time.Minute, "resuming", 4)
	}
	writers.Run(t)
	if t.Failed() {
		stop()
	}
	workers.Wait()
	calm()
	must(t, c.Close())
	if t.Failed() {
		return saw
	}
	for _, f := range injected {
		if f.Fired() == 0 && f.Fault().Verb != "list" { // few watchers begin with a list
			saw.missed = append(saw.missed, f.Fault())
		}
	}

	h.Check(t, writers.Accepted())
	for n, r := range reports {
		if diff := r.Compare(h); diff != "" {
			t.Errorf("watcher %d, %+v, from %d: %s", n, r.Query, r.StartRevision, diff)
		}
		if len(r.Earlier) > 0 && !expiring {
			t.Errorf("watcher %d, %+v, got 410, and nothing has been forgotten", n, r.Query)
		}
		if len(r.Earlier) > 0 && r.Breaks == 0 && (len(r.Earlier) > 1 || len(r.Earlier[0].Events) > 0) {
			t.Errorf("watcher %d, %+v, got 410 while its watch ran, and no fault has struck it", n, r.Query)
		}
		for _, one := range append(r.Earlier, r) {
			saw.events, saw.bookmarks, saw.watches = saw.events+len(one.Events), saw.bookmarks+one.Bookmarks, saw.watches+one.Reopened
		}
		saw.expired += len(r.Earlier)
	}
	saw.requests, saw.changes = writers.Requests(), len(h.Events)
	return saw
}
