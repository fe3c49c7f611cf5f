package store

import (
	"testing"
)

func TestWriteRules(t *testing.T) {
	type attempt func(*Store) (Record, error)
	var (
		one     = Record{Key: "/a/1", Value: "one again", Revision: 5, Created: 2}
		written = func(v string) Write { return Write{Make: func(int64) string { return v }, Tag: "tag"} }
		require = func(p ...Precondition) Write { return Write{Require: p} }
	)
	for name, c := range map[string]struct {
		do    attempt
		want  Record
		err   error
		event *Event // of revision 8, if the write is to succeed
	}{
		"create takes the next revision": {
			do:    func(s *Store) (Record, error) { return s.Create("/c", written("v")) },
			want:  Record{Key: "/c", Value: "v", Tag: "tag", Revision: 8, Created: 8},
			event: &Event{Type: Created, Record: Record{Key: "/c", Value: "v", Tag: "tag", Revision: 8, Created: 8}, Previous: &Record{}},
		},
		"create of nothing is an empty value": {
			do:    func(s *Store) (Record, error) { return s.Create("/c", Write{}) },
			want:  Record{Key: "/c", Revision: 8, Created: 8},
			event: &Event{Type: Created, Record: Record{Key: "/c", Revision: 8, Created: 8}, Previous: &Record{}},
		},
		"create of an existing key": {
			do:  func(s *Store) (Record, error) { return s.Create("/a/1", written("v")) },
			err: &ExistsError{Key: "/a/1", Current: one},
		},
		"update keeps the revision of the create": {
			do:   func(s *Store) (Record, error) { return s.Update("/a/1", 5, written("v")) },
			want: Record{Key: "/a/1", Value: "v", Tag: "tag", Revision: 8, Created: 2},
			event: &Event{
				Type:     Updated,
				Record:   Record{Key: "/a/1", Value: "v", Tag: "tag", Revision: 8, Created: 2},
				Previous: &one,
			},
		},
		"update of another revision": {
			do:  func(s *Store) (Record, error) { return s.Update("/a/1", 2, written("v")) },
			err: &ConflictError{Key: "/a/1", Current: one, Expected: 2},
		},
		"update of a missing key": {
			do:  func(s *Store) (Record, error) { return s.Update("/c", 0, written("v")) },
			err: &NotFoundError{Key: "/c"},
		},
		"delete has a revision and last words": {
			do:   func(s *Store) (Record, error) { return s.Delete("/a/1", 5, written("bye")) },
			want: Record{Key: "/a/1", Value: "bye", Tag: "tag", Revision: 8, Created: 2},
			event: &Event{
				Type:     Deleted,
				Record:   Record{Key: "/a/1", Value: "bye", Tag: "tag", Revision: 8, Created: 2},
				Previous: &one,
			},
		},
		"delete without words repeats the last value": {
			do:   func(s *Store) (Record, error) { return s.Delete("/a/1", 5, Write{}) },
			want: Record{Key: "/a/1", Value: "one again", Revision: 8, Created: 2},
			event: &Event{
				Type:     Deleted,
				Record:   Record{Key: "/a/1", Value: "one again", Revision: 8, Created: 2},
				Previous: &one,
			},
		},
		"delete of another revision": {
			do:  func(s *Store) (Record, error) { return s.Delete("/a/1", 4, Write{}) },
			err: &ConflictError{Key: "/a/1", Current: one, Expected: 4},
		},
		"delete of a missing key": {
			do:  func(s *Store) (Record, error) { return s.Delete("/c", 4, Write{}) },
			err: &NotFoundError{Key: "/c"},
		},
		"preconditions that hold": {
			do: func(s *Store) (Record, error) {
				return s.Create("/c", require(Precondition{Key: "/a/1", Revision: 5}, Precondition{Key: "/d", Revision: 0}))
			},
			want:  Record{Key: "/c", Revision: 8, Created: 8},
			event: &Event{Type: Created, Record: Record{Key: "/c", Revision: 8, Created: 8}, Previous: &Record{}},
		},
		"precondition on a revision that was replaced": {
			do:  func(s *Store) (Record, error) { return s.Create("/c", require(Precondition{Key: "/a/1", Revision: 2})) },
			err: &PreconditionError{Key: "/a/1", Current: 5, Required: 2},
		},
		"precondition on a record that is missing": {
			do: func(s *Store) (Record, error) {
				return s.Update("/a/1", 5, require(Precondition{Key: "/d", Revision: 2}))
			},
			err: &PreconditionError{Key: "/d", Required: 2},
		},
		"precondition on absence": {
			do: func(s *Store) (Record, error) {
				return s.Delete("/a/1", 5, require(Precondition{Key: "/b/1", Revision: 0}))
			},
			err: &PreconditionError{Key: "/b/1", Current: 4},
		},
		"the key's own state is judged before the preconditions": {
			do:  func(s *Store) (Record, error) { return s.Create("/a/1", require(Precondition{Key: "/d", Revision: 2})) },
			err: &ExistsError{Key: "/a/1", Current: one},
		},
	} {
		for kind, make := range map[string]func(*testing.T, *Store) *Store{
			"opened": func(_ *testing.T, s *Store) *Store { return s },
			"forked": fork,
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				s := open(t, Options{})
				history(t, s)
				s = make(t, s)
				got, err := c.do(s)
				fails(t, "error", err, c.err)
				equal(t, "record", got, c.want)
				equal(t, "event", s.log.event(8), c.event)
				if c.event == nil {
					equal(t, "revision", s.Revision(), int64(7))
					return
				}
				r, _ := s.Get(c.want.Key)
				if c.event.Type == Deleted {
					equal(t, "record read", r, Record{})
				} else {
					equal(t, "record read", r, c.want)
				}
			})
		}
	}
}

func TestMakeGetsItsRevision(t *testing.T) {
	s := open(t, Options{})
	history(t, s)
	var revisions []int64
	w := Write{Make: func(revision int64) string { revisions = append(revisions, revision); return "" }}
	if _, err := s.Create("/c", w); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create("/c", w); err == nil {
		t.Fatal("created twice")
	}
	w.Require = []Precondition{{Key: "/d", Revision: 1}}
	if _, err := s.Create("/e", w); err == nil {
		t.Fatal("created against a precondition")
	}
	equal(t, "revisions given, to writes that are not refused", revisions, []int64{8})
}

func TestMakeThatPanicsWritesNothing(t *testing.T) {
	s := open(t, Options{})
	history(t, s)
	func() {
		defer func() { equal(t, "panic", recover(), any("no value")) }()
		s.Create("/c", Write{Make: func(int64) string { panic("no value") }})
	}()
	equal(t, "revision", s.Revision(), int64(7))
	_, err := s.Get("/c")
	fails(t, "error", err, &NotFoundError{Key: "/c"})
	equal(t, "record written next", create(t, s, "/c", "v"), Record{Key: "/c", Value: "v", Revision: 8, Created: 8})
}

func TestReadersDoNotWaitForMake(t *testing.T) {
	s := open(t, Options{})
	history(t, s)
	_, err := s.Create("/c", Write{Make: func(int64) string {
		read := make(chan struct{})
		go func() {
			defer close(read)
			r, err := s.Get("/b/1")
			equal(t, "record read while another is made", r.Value, "three")
			fails(t, "error", err, nil)
		}()
		<-read
		return ""
	}})
	fails(t, "error", err, nil)
}

func TestAPrefixPreconditionHoldsWhileNoKeyOfThePrefixChanged(t *testing.T) {
	s := open(t, Options{})
	seen := create(t, s, "names/a", "1").Revision
	create(t, s, "other/x", "1")
	w := value("1")
	w.Require = []Precondition{{Key: "names/", Revision: seen, Prefix: true}}
	if _, err := s.Create("names/b", w); err != nil {
		t.Fatalf("no key of the prefix changed, and yet: %v", err)
	}
	_, err := s.Create("names/c", w)
	fails(t, "create after a key of the prefix was created", err, &PreconditionError{Key: "names/", Current: seen + 2, Required: seen})
}
