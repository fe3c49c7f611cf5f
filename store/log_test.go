package store

import (
	"runtime"
	"strings"
	"testing"
)

func TestCompactKeepsWhatIsReadAtItsRevision(t *testing.T) {
	s := open(t, Options{})
	history(t, s)
	if err := s.Compact(5); err != nil {
		t.Fatal(err)
	}
	equal(t, "oldest", s.Oldest(), int64(5))
	r, err := s.GetAt("/a/2", 5)
	equal(t, "record at the compacted revision", r, Record{Key: "/a/2", Value: "two", Revision: 3, Created: 3})
	fails(t, "error", err, nil)
	_, err = s.GetAt("/a/2", 4)
	fails(t, "error of get before", err, &CompactedError{Requested: 4, Oldest: 5})
	_, err = s.List("", ListOptions{Revision: 4})
	fails(t, "error of list before", err, &CompactedError{Requested: 4, Oldest: 5})
	_, err = s.Watch("", 4)
	fails(t, "error of watch before", err, &CompactedError{Requested: 4, Oldest: 5})
	fails(t, "error of compact before", s.Compact(4), &CompactedError{Requested: 4, Oldest: 5})
	fails(t, "error of compact again", s.Compact(5), nil)
	fails(t, "error of compact in the future", s.Compact(8), &FutureError{Requested: 8, Current: 7})
	fails(t, "error of compact to the present", s.Compact(7), nil)
	l, err := s.List("/a/", ListOptions{Revision: 7})
	equal(t, "records of the present", len(l.Records), 2)
	fails(t, "error", err, nil)
}

func TestHistoryIsBoundedByRevisions(t *testing.T) {
	s := open(t, Options{HistoryRevisions: 3})
	history(t, s)
	equal(t, "oldest", s.Oldest(), int64(4))
}

func TestHistoryIsBoundedByBytes(t *testing.T) {
	s := open(t, Options{HistoryBytes: 10})
	r := create(t, s, "k", "12345")
	r = update(t, s, r, "12345")
	equal(t, "oldest at the bound", s.Oldest(), int64(1))
	r = update(t, s, r, "1")
	equal(t, "oldest, with a small value that replaced a larger one", s.Oldest(), int64(2))
	update(t, s, r, strings.Repeat("x", 20))
	equal(t, "oldest, with a newest revision beyond the bound", s.Oldest(), int64(4))
	equal(t, "revision", s.Revision(), int64(5))
}

func TestCompactedEventsAreFreed(t *testing.T) {
	s := open(t, Options{HistoryRevisions: 10})
	r := create(t, s, "k", strings.Repeat("x", 1000))
	collected := make(chan struct{})
	runtime.AddCleanup(s.log.event(r.Revision), func(c chan struct{}) { close(c) }, collected)
	c, err := s.Watch("", 1) // a watcher that does not read holds nothing
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		r = update(t, s, r, "small")
	}
	runtime.GC()
	<-collected
	_, err = c.Poll()
	fails(t, "error of the watcher", err, &CompactedError{Requested: 1, Oldest: 2})
}
