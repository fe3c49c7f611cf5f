package fakecluster_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/readtest"
	"github.com/fakecluster/fakecluster/internal/seedtest"
)

// The guarantees of a watch, checked on random histories: 8 writers, and 50 watchers that
// begin, select and look in different ways, lose their connections and come back. See
// package readtest for what each of them has to see.
func TestWatchersSeeTheOneHistory(t *testing.T) {
	t.Run("over HTTP", func(t *testing.T) {
		watchersSeeTheOneHistory(t, &readtest.Writers{Seed: seedtest.Seed(t), Count: 8, Each: 50})
	})
	t.Run("in process", func(t *testing.T) {
		watchersSeeTheOneHistory(t, &readtest.Writers{Seed: seedtest.Seed(t), Count: 8, Each: 50}, fakecluster.InProcess())
	})
	// By the clock of a bubble, bookmarks come once a minute, and watches time out.
	t.Run("with bookmarks and timeouts", func(t *testing.T) {
		seed := seedtest.Seed(t)
		synctest.Test(t, func(t *testing.T) {
			pause := func(random *rand.Rand) time.Duration { return time.Duration(random.Int64N(int64(2 * time.Minute))) }
			watchersSeeTheOneHistory(t, &readtest.Writers{Seed: seed, Count: 8, Each: 30, Pause: pause}, fakecluster.InProcess())
		})
	})
}

func watchersSeeTheOneHistory(t *testing.T, writers *readtest.Writers, way ...fakecluster.Option) {
	const watchers = 50
	c := fakecluster.Start(t, way...)
	define(t, c, readtest.Definition())
	w := newWire(t, c)
	writers.Wire = w
	start, err := readtest.Revision(t.Context(), w)
	must(t, err)

	limit := 2 * time.Minute // between failing and hanging
	if writers.Pause != nil {
		limit = 12 * time.Hour // by the clock of the bubble
	}
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	var all sync.WaitGroup
	reports := make([]readtest.Report, watchers)
	random := seedtest.Source(writers.Seed, 1000)
	for n := range reports {
		v := readtest.SomeVantage(random, n, writers.Count*writers.Each)
		if writers.Pause != nil && v.Breaks > 0 {
			v.Timeout = 30 + random.IntN(300)
		}
		back := random.Int64()
		all.Go(func() {
			var err error
			reports[n], err = v.Watch(ctx, w, start, writers.After(v.Gate), func() int { return writers.SomeRevision(start, back) })
			if err != nil {
				t.Errorf("watcher %d, %+v: %v", n, v, err)
			}
		})
	}
	var h *readtest.History
	all.Go(func() {
		var err error
		if h, err = readtest.Record(ctx, w, start); err != nil {
			t.Errorf("recording: %v", err)
		}
	})
	writers.Run(t)
	if t.Failed() {
		stop()
	}
	all.Wait()
	must(t, c.Close())
	if t.Failed() {
		return
	}

	h.Check(t, writers.Accepted())
	events, bookmarks, reopened := 0, 0, 0
	for n, r := range reports {
		if diff := r.Compare(h); diff != "" {
			t.Errorf("watcher %d, %+v, from %d: %s", n, r.Vantage, r.Asked, diff)
		}
		events, bookmarks, reopened = events+len(r.Events), bookmarks+r.Bookmarks, reopened+r.Reopened
	}
	t.Logf("%d requests, %d changes, %d events, %d bookmarks, %d watches", writers.Requests(), len(h.Events), events, bookmarks, reopened)
	if writers.Pause != nil && bookmarks < 100 {
		t.Errorf("only %d bookmarks", bookmarks)
	}
}
