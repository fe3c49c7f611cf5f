package store

import (
	"testing"
)

// fork returns a fork that is closed when the test ends.
func fork(t *testing.T, s *Store) *Store {
	t.Helper()
	f, err := s.Fork()
	if err != nil {
		t.Fatalf("fork: %v", err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func list(t testing.TB, s *Store, revision int64) List {
	t.Helper()
	l, err := s.List("", ListOptions{Revision: revision})
	if err != nil {
		t.Fatalf("list at %d: %v", revision, err)
	}
	return l
}

func TestForkIsTheSame(t *testing.T) {
	s := open(t, Options{})
	history(t, s)
	for generation, f := range []*Store{fork(t, s), fork(t, fork(t, s))} {
		equal(t, "revision", f.Revision(), s.Revision())
		equal(t, "oldest", f.Oldest(), s.Oldest())
		for r := int64(1); r <= 7; r++ {
			equal(t, "list", list(t, f, r), list(t, s, r))
		}
		equal(t, "changes before the fork", poll(t, watch(t, f, "", 3)), []int64{4, 5, 6, 7})
		if t.Failed() {
			t.Fatalf("fork %d", generation)
		}
	}
}

func TestForksAreIndependent(t *testing.T) {
	s := open(t, Options{})
	history(t, s)
	before := list(t, s, 0)
	f, g := fork(t, s), fork(t, s)
	inStore, inFork := watch(t, s, "", 0), watch(t, f, "", 0)

	for _, r := range before.Records {
		remove(t, f, r)
	}
	create(t, f, "/a/0", "first")
	create(t, f, "/a/1", "one in the fork")
	create(t, f, "/c/1", "last")
	equal(t, "the store, after writes to its fork", list(t, s, 0), before)
	equal(t, "another fork", list(t, g, 0), before)
	equal(t, "the fork", list(t, f, 0), List{Revision: 13, Records: []Record{
		{Key: "/a/0", Value: "first", Revision: 11, Created: 11},
		{Key: "/a/1", Value: "one in the fork", Revision: 12, Created: 12},
		{Key: "/c/1", Value: "last", Revision: 13, Created: 13},
	}})
	equal(t, "the fork, as it was", list(t, f, 7), before)
	equal(t, "a fork of the fork", list(t, fork(t, f), 0), list(t, f, 0))
	equal(t, "changes in the store", poll(t, inStore), []int64(nil))
	equal(t, "changes in the fork", poll(t, inFork), []int64{8, 9, 10, 11, 12, 13})

	create(t, s, "/d/1", "only here")
	_, err := f.Get("/d/1")
	fails(t, "error in the fork", err, &NotFoundError{Key: "/d/1"})
	if err := s.Compact(8); err != nil {
		t.Fatal(err)
	}
	equal(t, "oldest of the fork, after a compaction of the store", f.Oldest(), int64(1))
}

func TestForkOutlivesItsStore(t *testing.T) {
	s := open(t, Options{})
	history(t, s)
	want := list(t, s, 0)
	f := fork(t, s)
	s.Close()
	equal(t, "the fork", list(t, f, 0), want)
	create(t, f, "/c/1", "")
	equal(t, "revision", f.Revision(), int64(8))
}

func TestSnapshotIsOfItsRevision(t *testing.T) {
	s := open(t, Options{})
	history(t, s)
	want := list(t, s, 0)
	snap, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := s.Snapshot(); again != snap {
		t.Error("a second snapshot of the same state is another one")
	}
	create(t, s, "/c/1", "")
	if later, _ := s.Snapshot(); later == snap || later.Revision() != 8 {
		t.Error("the snapshot after a write is the one before it")
	}
	equal(t, "revision", snap.Revision(), int64(7))
	for range 2 { // as often as one likes
		l, err := Load(snap, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		equal(t, "the loaded store", list(t, l, 0), want)
		remove(t, l, want.Records[0])
	}
}

func TestLoadKeepsTheHistoryItsOptionsAllow(t *testing.T) {
	s := open(t, Options{})
	history(t, s)
	snap, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		options Options
		oldest  int64
	}{
		{Options{}, 1},
		{Options{HistoryRevisions: 2}, 5},
		{Options{HistoryBytes: 12}, 5}, // "two" and "two again"
	} {
		l, err := Load(snap, c.options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		equal(t, "oldest", l.Oldest(), c.oldest)
		equal(t, "records", list(t, l, 0), list(t, s, 0))
	}
}
