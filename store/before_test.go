package store

import (
	"cmp"
	"slices"
	"testing"
)

func TestUpdatesBeforeAndAfterAWriteCommitWithIt(t *testing.T) {
	var committed []Record
	update := func(key string, revision int64, value string) Update {
		return Update{
			Key: key, Revision: revision, Tag: "tag", Index: "index",
			Make:      func(int64) string { return value },
			Committed: func(r Record) { committed = append(committed, r) },
		}
	}
	value := func(int64) string { return "v" }
	a1 := Record{Key: "/a/1", Value: "A", Tag: "tag", Index: "index", Revision: 8, Created: 2}
	b1 := Record{Key: "/b/1", Value: "B", Tag: "tag", Index: "index", Revision: 9, Created: 4}

	for name, c := range map[string]struct {
		do        func(*Store) (Record, error)
		want      Record // of the write
		err       error
		committed []Record
	}{
		"of a create": {
			do: func(s *Store) (Record, error) {
				return s.Create("/c", Write{Make: value, Before: []Update{update("/a/1", 5, "A"), update("/b/1", 4, "B")}})
			},
			want: Record{Key: "/c", Value: "v", Revision: 10, Created: 10}, committed: []Record{a1, b1},
		},
		"of an update": {
			do: func(s *Store) (Record, error) {
				return s.Update("/b/1", 4, Write{Make: value, Before: []Update{update("/a/1", 5, "A")}})
			},
			want: Record{Key: "/b/1", Value: "v", Revision: 9, Created: 4}, committed: []Record{a1},
		},
		"of a delete": {
			do: func(s *Store) (Record, error) {
				return s.Delete("/b/1", 4, Write{Make: value, Before: []Update{update("/a/1", 5, "A")}})
			},
			want: Record{Key: "/b/1", Value: "v", Revision: 9, Created: 4}, committed: []Record{a1},
		},
		"after a delete": {
			do: func(s *Store) (Record, error) {
				return s.Delete("/b/1", 4, Write{Make: value, After: []Update{update("/a/1", 5, "A")}})
			},
			want:      Record{Key: "/b/1", Value: "v", Revision: 8, Created: 4},
			committed: []Record{{Key: "/a/1", Value: "A", Tag: "tag", Index: "index", Revision: 9, Created: 2}},
		},
		"before and after a create": {
			do: func(s *Store) (Record, error) {
				return s.Create("/c", Write{Make: value, Before: []Update{update("/a/1", 5, "A")}, After: []Update{update("/b/1", 4, "B")}})
			},
			want:      Record{Key: "/c", Value: "v", Revision: 9, Created: 9},
			committed: []Record{a1, {Key: "/b/1", Value: "B", Tag: "tag", Index: "index", Revision: 10, Created: 4}},
		},
		"one after is at another revision": {
			do: func(s *Store) (Record, error) {
				return s.Create("/c", Write{Make: value, Before: []Update{update("/a/1", 5, "A")}, After: []Update{update("/b/1", 3, "B")}})
			},
			err: &PreconditionError{Key: "/b/1", Current: 4, Required: 3},
		},
		"one is at another revision": {
			do: func(s *Store) (Record, error) {
				return s.Create("/c", Write{Make: value, Before: []Update{update("/a/1", 5, "A"), update("/b/1", 3, "B")}})
			},
			err: &PreconditionError{Key: "/b/1", Current: 4, Required: 3},
		},
		"one is not there": {
			do: func(s *Store) (Record, error) {
				return s.Create("/c", Write{Make: value, Before: []Update{update("/d", 5, "A")}})
			},
			err: &PreconditionError{Key: "/d", Required: 5},
		},
		"the write itself is refused": {
			do: func(s *Store) (Record, error) {
				return s.Update("/b/1", 3, Write{Make: value, Before: []Update{update("/a/1", 5, "A")}})
			},
			err: &ConflictError{Key: "/b/1", Current: Record{Key: "/b/1", Value: "three", Revision: 4, Created: 4}, Expected: 3},
		},
		"a precondition does not hold": {
			do: func(s *Store) (Record, error) {
				return s.Create("/c", Write{Make: value, Require: []Precondition{{Key: "/b/1", Revision: 3}}, Before: []Update{update("/a/1", 5, "A")}})
			},
			err: &PreconditionError{Key: "/b/1", Current: 4, Required: 3},
		},
	} {
		for kind, make := range map[string]func(*testing.T, *Store) *Store{
			"opened": func(_ *testing.T, s *Store) *Store { return s },
			"forked": fork,
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				committed = nil
				s := open(t, Options{})
				history(t, s)
				s = make(t, s)
				cursor, err := s.Watch("", 7)
				if err != nil {
					t.Fatal(err)
				}
				got, err := c.do(s)
				fails(t, "error", err, c.err)
				equal(t, "record", got, c.want)
				equal(t, "told", committed, c.committed)
				equal(t, "revision", s.Revision(), 7+int64(len(c.committed))+min(1, c.want.Revision))
				events, err := cursor.Poll()
				fails(t, "watching", err, nil)
				states := append(slices.Clone(c.committed), c.want)
				slices.SortFunc(states, func(a, b Record) int { return cmp.Compare(a.Revision, b.Revision) })
				states = slices.DeleteFunc(states, func(r Record) bool { return r.Revision == 0 })
				equal(t, "events", len(events), len(states))
				for i, r := range states {
					equal(t, "event", events[i].Record, r)
					if events[i].Type != Deleted {
						got, err := s.Get(r.Key)
						fails(t, "reading", err, nil)
						equal(t, "present", got, r)
					}
				}
			})
		}
	}
}

func TestUpdatesBeforeAWriteThatPanicsAreNotMade(t *testing.T) {
	s := open(t, Options{})
	history(t, s)
	func() {
		defer func() { _ = recover() }()
		_, _ = s.Create("/c", Write{
			Make:   func(int64) string { panic("no") },
			Before: []Update{{Key: "/a/1", Revision: 5, Make: func(int64) string { return "A" }}},
		})
	}()
	equal(t, "revision", s.Revision(), int64(7))
	got, err := s.Get("/a/1")
	fails(t, "reading", err, nil)
	equal(t, "record", got, Record{Key: "/a/1", Value: "one again", Revision: 5, Created: 2})
}
