package store

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// watch returns a cursor that is there.
func watch(t testing.TB, s *Store, prefix string, after int64) *Cursor {
	t.Helper()
	c, err := s.Watch(prefix, after)
	if err != nil {
		t.Fatalf("watch %q after %d: %v", prefix, after, err)
	}
	return c
}

// poll returns the revisions of what a cursor has to say.
func poll(t testing.TB, c *Cursor) []int64 {
	t.Helper()
	events, err := c.Poll()
	if err != nil {
		t.Fatalf("poll: %v", err)
	}
	var revisions []int64
	for _, e := range events {
		revisions = append(revisions, e.Record.Revision)
	}
	return revisions
}

func TestWatchReadsTheChangesOfItsPrefix(t *testing.T) {
	for name, c := range map[string]struct {
		prefix string
		after  int64
		want   []int64
	}{
		"everything, from the beginning": {"", 1, []int64{2, 3, 4, 5, 6, 7}},
		"a prefix, from the beginning":   {"/a/", 1, []int64{2, 3, 5, 6, 7}},
		"a key, from the middle":         {"/a/2", 3, []int64{6, 7}},
		"from the newest":                {"", 7, nil},
		"from now on":                    {"", 0, nil},
		"a prefix that nothing has":      {"/c/", 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{})
			history(t, s)
			w := watch(t, s, c.prefix, c.after)
			equal(t, "revisions", poll(t, w), c.want)
			equal(t, "revisions after that", poll(t, w), []int64(nil))
			equal(t, "revision of the cursor", w.Revision(), int64(7))
			create(t, s, "/z", "") // another prefix's
			create(t, s, c.prefix+"/zz", "")
			want := []int64{9}
			if c.prefix == "" {
				want = []int64{8, 9}
			}
			equal(t, "revisions of what is new", poll(t, w), want)
			equal(t, "revision of the cursor", w.Revision(), int64(9))
		})
	}
}

func TestWatchOfTheFutureIsRefused(t *testing.T) {
	s := open(t, Options{})
	_, err := s.Watch("", 2)
	fails(t, "error", err, &FutureError{Requested: 2, Current: 1})
}

func TestBatchesAreBounded(t *testing.T) {
	s := open(t, Options{})
	w := watch(t, s, "", 0)
	for i := range maxBatch + 1 {
		create(t, s, fmt.Sprint(i), "")
	}
	equal(t, "events of the first batch", len(poll(t, w)), maxBatch)
	equal(t, "revision of the cursor between", w.Revision(), int64(1+maxBatch))
	equal(t, "revisions of the second batch", poll(t, w), []int64{2 + maxBatch})
}

func TestCursorThatFellBehindIsCompacted(t *testing.T) {
	s := open(t, Options{HistoryRevisions: 3})
	w := watch(t, s, "/b/", 0)
	history(t, s)
	_, err := w.Next(t.Context())
	fails(t, "error", err, &CompactedError{Requested: 1, Oldest: 4})
	_, err = w.Next(t.Context())
	fails(t, "error, again", err, &CompactedError{Requested: 1, Oldest: 4})
}

func TestNextWaitsForAChangeOfItsPrefix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{})
		w := watch(t, s, "/a/", 0)
		var got []*Event
		go func() {
			var err error
			got, err = w.Next(t.Context())
			fails(t, "error", err, nil)
		}()
		synctest.Wait()
		create(t, s, "/b/1", "")
		synctest.Wait()
		equal(t, "events before one of the prefix", len(got), 0)
		r := create(t, s, "/a/1", "v")
		synctest.Wait()
		equal(t, "events", got, []*Event{{Type: Created, Record: r, Previous: &Record{}}})
	})
}

func TestNextEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{})
		w := watch(t, s, "", 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := w.Next(ctx)
		fails(t, "error", err, context.DeadlineExceeded)
		create(t, s, "k", "")
		_, err = w.Next(ctx)
		fails(t, "error, with a change to be read", err, context.DeadlineExceeded)
		equal(t, "revisions left to be read", poll(t, w), []int64{2})
	})
}

func TestCloseEndsWaitingCursors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{})
		var ended sync.WaitGroup
		for range 3 {
			ended.Go(func() {
				_, err := watch(t, s, "", 0).Next(t.Context())
				fails(t, "error", err, ErrClosed)
			})
		}
		synctest.Wait()
		s.Close()
		ended.Wait()
	})
}

func TestChangedTakenBeforePollLosesNothing(t *testing.T) {
	s := open(t, Options{})
	w := watch(t, s, "", 0)
	changed := w.Changed()
	equal(t, "revisions", poll(t, w), []int64(nil))
	create(t, s, "k", "")
	<-changed
	equal(t, "revisions", poll(t, w), []int64{2})
	changed = w.Changed()
	s.Close()
	<-changed
	_, err := w.Poll()
	fails(t, "error", err, ErrClosed)
}

// In a bubble, a writer that waited for a watcher would never return: the test would end with a deadlock.
func TestNoWriterWaitsForAWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{HistoryRevisions: 5000})
		never := watch(t, s, "", 0)
		<-watchOnce(t, s) // one that has read, and does not any more
		for i := range 10_000 {
			put(t, s, fmt.Sprint(i%100), "v")
		}
		equal(t, "revision", s.Revision(), int64(10_002))
		_, err := never.Poll()
		fails(t, "error of the one that never read", err, &CompactedError{Requested: 1, Oldest: 5_002})
	})
}

func watchOnce(t *testing.T, s *Store) <-chan struct{} {
	w := watch(t, s, "", 0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := w.Next(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	synctest.Wait()
	create(t, s, "first", "")
	return done
}
