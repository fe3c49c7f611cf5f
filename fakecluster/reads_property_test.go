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
	t.Run("with faults", func(t *testing.T) {
		watchersSeeTheOneHistory(t, &readtest.Writers{Seed: seedtest.Seed(t), Count: 8, Each: 50, Faults: true})
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
	resuming := w // the watchers that can go on when they are dropped
	var faults []*fakecluster.Injection
	if writers.Faults {
		writers.Wire.Agent, resuming.Agent = "writer", "resuming"
		faults = faultsOfReadsAndWrites(c)
	}

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
		w := w
		if v.Breaks > 0 {
			w = resuming
		}
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
	for _, f := range faults {
		if f.Fired() == 0 && f.Fault().Verb != "list" { // few watchers begin with a list
			t.Errorf("never: %v", f.Fault())
		}
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

// faultsOfReadsAndWrites makes requests go wrong in each way that leaves it to the client to go on: writes of the
// agent "writer", and watches of "resuming". What watchers are told stays whole, in order and without gaps.
func faultsOfReadsAndWrites(c *fakecluster.Cluster) (all []*fakecluster.Injection) {
	for _, f := range []fakecluster.Fault{
		{UserAgent: "writer", Probability: 0.03, Effect: fakecluster.CutAfterCommit()},
		{UserAgent: "writer", Probability: 0.03, Effect: fakecluster.CutBeforeCommit()},
		{UserAgent: "writer", Probability: 0.05, Effect: fakecluster.Conflict()},
		{UserAgent: "writer", Probability: 0.05, Effect: fakecluster.Unavailable()},
		{UserAgent: "writer", Probability: 0.05, Effect: fakecluster.TooManyRequests(0)},
		{UserAgent: "writer", Probability: 0.05, Effect: fakecluster.RefuseAdmission("on purpose")},
		{UserAgent: "writer", Verb: "get", Probability: 0.3, Effect: fakecluster.StaleRead(3)},
		{UserAgent: "writer", Probability: 0.05, Latency: time.Millisecond},
		{UserAgent: "resuming", Verb: "list", Probability: 0.5, Effect: fakecluster.StaleRead(2)},
		{UserAgent: "resuming", Verb: "watch", Probability: 0.3, Effect: fakecluster.DropWatch(0)},
		{UserAgent: "resuming", Verb: "watch", Probability: 0.3, Effect: fakecluster.DropWatch(3)},
		{UserAgent: "resuming", Verb: "watch", Probability: 0.3, Effect: fakecluster.DelayWatch(time.Millisecond)},
	} {
		if f.Verb != "watch" && f.Verb != "list" {
			f.Subresource = fakecluster.AnySubresource
		}
		f.Resource, f.Optional = "samples.reads.example.com", true // that each has fired is looked at later
		all = append(all, c.Inject(f))
	}
	return all
}
