package store

import (
	"errors"
	"testing"
)

func first(key, value string, revision int64) Record {
	return Record{Key: key, Value: value, Tag: "v1", Index: "a=b", Revision: revision, Created: revision}
}

// A store that has been filled equals one in which the records were created.
func TestAFilledStoreIsAsIfItsRecordsWereCreated(t *testing.T) {
	records := []Record{first("/a/1", "one", 2), first("/a/2", "two", 3), first("/b/1", "three", 4)}
	filled, created := open(t, Options{}), open(t, Options{})
	changed := watch(t, filled, "", 0).Changed()
	if err := filled.Fill(records); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	default:
		t.Error("nobody was told")
	}
	for _, r := range records {
		if _, err := created.Create(r.Key, Write{Make: func(int64) string { return r.Value }, Tag: r.Tag, Index: r.Index}); err != nil {
			t.Fatal(err)
		}
	}
	same := func(what string) {
		t.Helper()
		equal(t, what+": revision", filled.Revision(), created.Revision())
		equal(t, what+": oldest", filled.Oldest(), created.Oldest())
		for r := int64(1); r <= filled.Revision(); r++ {
			equal(t, what+": list", list(t, filled, r), list(t, created, r))
		}
		a, err := watch(t, filled, "", 1).Poll()
		if err != nil {
			t.Fatal(err)
		}
		b, err := watch(t, created, "", 1).Poll()
		if err != nil {
			t.Fatal(err)
		}
		equal(t, what+": events", a, b)
		for _, start := range []string{"/a/", "/a/2"} {
			var pages [2]Scan
			for i, s := range []*Store{filled, created} {
				if pages[i], err = s.Scan("/a/", ListOptions{Start: start, Limit: 1}); err != nil {
					t.Fatal(err)
				}
			}
			equal(t, what+": the rest of a page", pages[0].Remaining, pages[1].Remaining)
		}
	}
	same("at first")
	for _, s := range []*Store{filled, created} {
		remove(t, s, records[0])
		create(t, s, "/a/1", "again")
		create(t, s, "/a/3", "new")
		if _, err := s.Update("/b/1", 4, Write{Make: func(int64) string { return "changed" }}); err != nil {
			t.Fatal(err)
		}
	}
	same("after writes")
	f, g := fork(t, filled), fork(t, created)
	equal(t, "forks", list(t, f, 0), list(t, g, 0))
}

func TestFillRefuses(t *testing.T) {
	for name, records := range map[string][]Record{
		"keys out of order":       {first("/b", "", 2), first("/a", "", 3)},
		"a key twice":             {first("/a", "", 2), first("/a", "", 3)},
		"a revision too early":    {first("/a", "", 1)},
		"a revision left out":     {first("/a", "", 2), first("/b", "", 4)},
		"an age it does not have": {{Key: "/a", Revision: 2, Created: 1}},
	} {
		s := open(t, Options{})
		if err := s.Fill(records); err == nil {
			t.Errorf("%s: no error", name)
		}
		equal(t, name, list(t, s, 0), List{Revision: 1, Records: []Record{}})
	}
	s := open(t, Options{})
	create(t, s, "/a", "one")
	if err := s.Fill([]Record{first("/b", "", 2)}); !errors.Is(err, errNotEmpty) {
		t.Errorf("a store that has been written to: %v", err)
	}
	equal(t, "it", len(list(t, s, 0).Records), 1)
	s.Close()
	if err := s.Fill(nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed store: %v", err)
	}
}

// The bounds of the history hold for what a store is filled with.
func TestFillKeepsToTheBoundsOfTheHistory(t *testing.T) {
	s := open(t, Options{HistoryRevisions: 2})
	if err := s.Fill([]Record{first("/a", "", 2), first("/b", "", 3), first("/c", "", 4)}); err != nil {
		t.Fatal(err)
	}
	equal(t, "oldest", s.Oldest(), int64(2))
	equal(t, "records", len(list(t, s, 0).Records), 3)
}
