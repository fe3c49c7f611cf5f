package store

import (
	"testing"
)

func TestGetAtRevision(t *testing.T) {
	s := open(t, Options{})
	history(t, s)
	// The revision of the record that each key has at each revision; 0 where it has none.
	for key, want := range map[string][]int64{
		//       1  2  3  4  5  6  7
		"/a/1": {0, 2, 2, 2, 5, 5, 5},
		"/a/2": {0, 0, 3, 3, 3, 0, 7},
		"/b/1": {0, 0, 0, 4, 4, 4, 4},
		"/c/1": {0, 0, 0, 0, 0, 0, 0},
	} {
		for i := range want {
			r, err := s.GetAt(key, int64(i+1))
			if want[i] == 0 {
				fails(t, "error", err, &NotFoundError{Key: key})
			} else if r.Revision != want[i] || r.Key != key || err != nil {
				t.Errorf("GetAt(%q, %d) is at revision %d (%v), want %d", key, i+1, r.Revision, err, want[i])
			}
		}
	}
	_, err := s.GetAt("/a/1", 8)
	fails(t, "error of a future revision", err, &FutureError{Requested: 8, Current: 7})
	_, err = s.GetAt("/a/1", -1)
	fails(t, "error of a revision before all", err, &CompactedError{Requested: -1, Oldest: 1})
}

func TestList(t *testing.T) {
	one := Record{Key: "/a/1", Value: "one", Revision: 2, Created: 2}
	oneAgain := Record{Key: "/a/1", Value: "one again", Revision: 5, Created: 2}
	two := Record{Key: "/a/2", Value: "two", Revision: 3, Created: 3}
	twoAgain := Record{Key: "/a/2", Value: "two again", Revision: 7, Created: 7}
	three := Record{Key: "/b/1", Value: "three", Revision: 4, Created: 4}

	for name, c := range map[string]struct {
		prefix  string
		options ListOptions
		want    List
		err     error
	}{
		"everything":                     {"", ListOptions{}, List{[]Record{oneAgain, twoAgain, three}, 7, 0}, nil},
		"a prefix":                       {"/a/", ListOptions{}, List{[]Record{oneAgain, twoAgain}, 7, 0}, nil},
		"a prefix that nothing has":      {"/c/", ListOptions{}, List{[]Record{}, 7, 0}, nil},
		"a prefix that is a key":         {"/b/1", ListOptions{}, List{[]Record{three}, 7, 0}, nil},
		"a limit":                        {"", ListOptions{Limit: 1}, List{[]Record{oneAgain}, 7, 2}, nil},
		"a limit that all are within":    {"/a/", ListOptions{Limit: 2}, List{[]Record{oneAgain, twoAgain}, 7, 0}, nil},
		"a start at a key":               {"", ListOptions{Start: "/a/2"}, List{[]Record{twoAgain, three}, 7, 0}, nil},
		"a start between keys":           {"", ListOptions{Start: "/a/1\x00"}, List{[]Record{twoAgain, three}, 7, 0}, nil},
		"a start before the prefix":      {"/b/", ListOptions{Start: "/a/2"}, List{[]Record{three}, 7, 0}, nil},
		"a start after the prefix":       {"/a/", ListOptions{Start: "/b/"}, List{[]Record{}, 7, 0}, nil},
		"start and limit":                {"", ListOptions{Start: "/a/2", Limit: 1}, List{[]Record{twoAgain}, 7, 1}, nil},
		"at an earlier revision":         {"", ListOptions{Revision: 4}, List{[]Record{one, two, three}, 4, 0}, nil},
		"at that of a delete":            {"", ListOptions{Revision: 6}, List{[]Record{oneAgain, three}, 6, 0}, nil},
		"at the newest revision":         {"/b", ListOptions{Revision: 7}, List{[]Record{three}, 7, 0}, nil},
		"at the first revision":          {"", ListOptions{Revision: 1}, List{[]Record{}, 1, 0}, nil},
		"start, limit and revision":      {"", ListOptions{Start: "/a/1\x00", Limit: 1, Revision: 3}, List{[]Record{two}, 3, 0}, nil},
		"limit over what came later":     {"/a/", ListOptions{Limit: 2, Revision: 2}, List{[]Record{one}, 2, 0}, nil},
		"limit before what went later":   {"", ListOptions{Limit: 2, Revision: 5}, List{[]Record{oneAgain, two}, 5, 1}, nil},
		"a revision that is yet to come": {"", ListOptions{Revision: 8}, List{}, &FutureError{Requested: 8, Current: 7}},
		"a revision before all":          {"", ListOptions{Revision: -3}, List{}, &CompactedError{Requested: -3, Oldest: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{})
			history(t, s)
			for kind, s := range map[string]*Store{"opened": s, "forked": fork(t, s)} {
				got, err := s.List(c.prefix, c.options)
				equal(t, kind+": list", got, c.want)
				fails(t, kind+": error", err, c.err)
			}
		})
	}
}
