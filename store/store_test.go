package store

import (
	"errors"
	"reflect"
	"testing"

	"github.com/fakecluster/fakecluster/internal/testing/compare"
	"github.com/fakecluster/fakecluster/internal/testing/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// open returns a store that is closed when the test ends.
func open(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// value is a Write of a value that does not depend on the revision.
func value(v string) Write {
	return Write{Make: func(int64) string { return v }}
}

func create(t testing.TB, s *Store, key, v string) Record {
	t.Helper()
	r, err := s.Create(key, value(v))
	if err != nil {
		t.Fatalf("create %q: %v", key, err)
	}
	return r
}

func update(t testing.TB, s *Store, r Record, v string) Record {
	t.Helper()
	r, err := s.Update(r.Key, r.Revision, value(v))
	if err != nil {
		t.Fatalf("update %q: %v", r.Key, err)
	}
	return r
}

func remove(t testing.TB, s *Store, r Record) Record {
	t.Helper()
	r, err := s.Delete(r.Key, r.Revision, Write{})
	if err != nil {
		t.Fatalf("delete %q: %v", r.Key, err)
	}
	return r
}

// put creates or updates.
func put(t testing.TB, s *Store, key, v string) Record {
	t.Helper()
	if r, err := s.Get(key); err == nil {
		return update(t, s, r, v)
	}
	return create(t, s, key, v)
}

var equal = compare.Equal

func fails(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) && !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// history is a small one that has everything in it:
//
//	2 create /a/1    5 update /a/1 (from 2)
//	3 create /a/2    6 delete /a/2 (from 3)
//	4 create /b/1    7 create /a/2
func history(t testing.TB, s *Store) {
	t.Helper()
	a1 := create(t, s, "/a/1", "one")
	a2 := create(t, s, "/a/2", "two")
	create(t, s, "/b/1", "three")
	update(t, s, a1, "one again")
	remove(t, s, a2)
	create(t, s, "/a/2", "two again")
}

func TestNegativeOptionsAreRefused(t *testing.T) {
	for _, o := range []Options{{HistoryRevisions: -1}, {HistoryBytes: -1}} {
		if s, err := Open(o); err == nil {
			s.Close()
			t.Errorf("Open(%+v) did not fail", o)
		}
	}
}

func TestNewStoreIsEmptyAtRevisionOne(t *testing.T) {
	s := open(t, Options{})
	l, err := s.List("", ListOptions{})
	equal(t, "list", l, List{Records: []Record{}, Revision: 1})
	fails(t, "error", err, nil)
	equal(t, "revision", s.Revision(), int64(1))
	equal(t, "oldest", s.Oldest(), int64(1))
}

func TestAClosedStoreReturnsErrClosed(t *testing.T) {
	s := open(t, Options{})
	r := create(t, s, "k", "v")
	snap, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Watch("", 1)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	for name, call := range map[string]func() error{
		"Get":      func() error { _, err := s.Get("k"); return err },
		"GetAt":    func() error { _, err := s.GetAt("k", 1); return err },
		"List":     func() error { _, err := s.List("", ListOptions{}); return err },
		"List at":  func() error { _, err := s.List("", ListOptions{Revision: 9}); return err },
		"Create":   func() error { _, err := s.Create("l", value("")); return err },
		"Update":   func() error { _, err := s.Update("k", r.Revision, value("")); return err },
		"Delete":   func() error { _, err := s.Delete("k", r.Revision, value("")); return err },
		"Compact":  func() error { return s.Compact(2) },
		"Snapshot": func() error { _, err := s.Snapshot(); return err },
		"Fork":     func() error { _, err := s.Fork(); return err },
		"Watch":    func() error { _, err := s.Watch("", 0); return err },
		"Poll":     func() error { _, err := c.Poll(); return err },
		"Next":     func() error { _, err := c.Next(t.Context()); return err },
	} {
		if err := call(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v, want ErrClosed", name, err)
		}
	}
	l, err := Load(snap, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, err := l.Get("k")
	equal(t, "record of a snapshot that outlives its store", got, r)
	fails(t, "error", err, nil)
}
