package fakecluster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/seedtest"
)

// The six guarantees of a watch, on recorded histories: 8 writers, and 50 watchers
// that begin, select and look in different ways, lose their connections and come
// back. What each of them has seen has to be, event for event and byte for byte,
// what follows from the one history of all writes: in its order, nothing twice,
// nothing in parts, nothing lost, wherever the watch was resumed, at events or at
// bookmarks.
func TestWatchersSeeTheOneHistory(t *testing.T) {
	t.Run("over HTTP", func(t *testing.T) {
		watchersSeeTheOneHistory(t, &churn{seed: seedtest.Seed(t), writers: 8, each: 50})
	})
	t.Run("in process", func(t *testing.T) {
		watchersSeeTheOneHistory(t, &churn{seed: seedtest.Seed(t), writers: 8, each: 50}, fakecluster.InProcess())
	})
	// The clock of a bubble brings bookmarks, once a minute, and timeouts.
	t.Run("with bookmarks and timeouts", func(t *testing.T) {
		seed := seedtest.Seed(t)
		synctest.Test(t, func(t *testing.T) {
			rest := func(random *rand.Rand) time.Duration { return time.Duration(random.Int64N(int64(2 * time.Minute))) }
			watchersSeeTheOneHistory(t, &churn{seed: seed, writers: 8, each: 30, rest: rest}, fakecluster.InProcess())
		})
	})
}

func watchersSeeTheOneHistory(t *testing.T, writers *churn, way ...fakecluster.Option) {
	const watchers = 50
	c := fakecluster.Start(t, way...)
	define(t, c, sampleDefinition())
	w := newWire(t, c)
	writers.wire = w
	_, start, _, err := vantage{version: "v1"}.list(t.Context(), w)
	must(t, err)

	limit := 2 * time.Minute // between failing and hanging
	if writers.rest != nil {
		limit = 12 * time.Hour // of a bubble
	}
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	var all sync.WaitGroup
	reports := make([]report, watchers)
	random := seedtest.Source(writers.seed, 1000)
	for n := range reports {
		v := someVantage(random, n, writers.writers*writers.each)
		if writers.rest != nil && v.breaks > 0 {
			v.timeout = 30 + random.IntN(300)
		}
		back := random.Int64()
		all.Go(func() {
			var err error
			reports[n], err = v.watch(ctx, w, start, writers.after(v.gate), func() int { return writers.someRevision(start, back) })
			if err != nil {
				t.Errorf("watcher %d, %+v: %v", n, v, err)
			}
		})
	}
	var h *history
	all.Go(func() {
		var err error
		if h, err = recordHistory(ctx, w, start); err != nil {
			t.Errorf("recording: %v", err)
		}
	})
	gate := writers.after(0)
	writers.answered("", "", 404, "") // opens the gate of those that begin before all writes
	<-gate
	writers.run(t)
	if t.Failed() {
		stop()
	}
	all.Wait()
	must(t, c.Close())
	if t.Failed() {
		return
	}

	checkHistory(t, h, writers.accepted)
	events, bookmarks, reopened := 0, 0, 0
	for n, r := range reports {
		if diff := r.compare(h); diff != "" {
			t.Errorf("watcher %d, %+v, from %d: %s", n, r.vantage, r.asked, diff)
		}
		events, bookmarks, reopened = events+len(r.events), bookmarks+r.bookmarks, reopened+r.reopened
	}
	t.Logf("%d requests, %d changes, %d events, %d bookmarks, %d watches", writers.asked, len(h.events), events, bookmarks, reopened)
	if writers.rest != nil && bookmarks < 100 {
		t.Errorf("only %d bookmarks", bookmarks)
	}
}

// someRevision is one of those that have been answered, the first if there is none.
func (c *churn) someRevision(start int, n int64) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	var revisions []int
	for _, w := range c.accepted {
		if w.verb == "last" {
			break
		}
		if m, err := metaOf(w.body); err == nil && m.Metadata.ResourceVersion != "" {
			var revision int
			if _, err := fmt.Sscan(m.Metadata.ResourceVersion, &revision); err == nil {
				revisions = append(revisions, revision)
			}
		}
	}
	if len(revisions) == 0 {
		return start
	}
	return revisions[n%int64(len(revisions))]
}

// compare tells how a report differs from the history.
func (r report) compare(h *history) string {
	switch r.start {
	case fromList:
		if !slices.Equal(h.added(r.vantage, r.asked), r.listed) {
			return "the list differs from the state at its revision" + different(h.added(r.vantage, r.asked), r.listed)
		}
	case streamedList:
		return r.compareFrom(h.added(r.vantage, r.initial), h.seen(r.vantage, r.initial))
	case fromEmpty, fromZero:
		// The watch does not tell at which revision it began: there has to be one.
		all := h.seen(r.vantage, h.start)
		for revision := h.start; revision <= h.last(); revision++ {
			since, _ := slices.BinarySearchFunc(all, revision+1, func(e told, revision int) int { return e.revision - revision })
			if n := len(r.events) - (len(all) - since); n < 0 || !slices.Equal(r.events[n:], all[since:]) {
				continue
			}
			if r.compareFrom(h.added(r.vantage, revision), all[since:]) == "" {
				return ""
			}
		}
		return fmt.Sprintf("there is no revision at which it could have begun: %v", r.events)
	}
	return r.compareFrom(nil, h.seen(r.vantage, r.asked))
}

// compareFrom tells how what was seen differs from a state and what came after it.
func (r report) compareFrom(added, after []told) string {
	if want := slices.Concat(added, after); !slices.Equal(want, r.events) {
		return different(want, r.events)
	}
	return ""
}

func different(want, got []told) string {
	return " (-want +got):\n" + cmp.Diff(want, got, cmp.AllowUnexported(told{}))
}
