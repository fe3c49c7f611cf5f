package consistency

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sample is a sample in JSON, with a tier.
func sample(name string, revision int, tier string) string {
	return fmt.Sprintf(`{"apiVersion":"reads.example.com/v1","kind":"Sample","metadata":{"name":%q,"namespace":"default","resourceVersion":"%d","labels":{"tier":%q}},"spec":{"color":"red","count":%[2]d}}`,
		name, revision, tier)
}

// small is the history
//
//	5 ADDED o-1 (a)    7 MODIFIED o-1 (b)    9 MODIFIED o-1 (a)
//	6 ADDED o-2 (b)    8 DELETED o-2 (b)    10 ADDED o-2 (a)
func small(t *testing.T) *History {
	t.Helper()
	h := &History{Start: 4}
	for i, e := range []struct{ kind, name, tier string }{
		{"ADDED", "o-1", "a"}, {"ADDED", "o-2", "b"}, {"MODIFIED", "o-1", "b"}, {"DELETED", "o-2", "b"}, {"MODIFIED", "o-1", "a"}, {"ADDED", "o-2", "a"},
	} {
		if _, err := h.append(e.kind, sample(e.name, 5+i, e.tier)); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func received(kind, name string, revision int, tier string) Received {
	return Received{kind, revision, sample(name, revision, tier)}
}

func TestTheModelOfAWatch(t *testing.T) {
	whole, a := Query{Version: "v1"}, Query{Version: "v1", Labels: "tier=a"}
	for _, c := range []struct {
		name  string
		v     Query
		after int
		want  []Received
	}{
		{"a watch of everything sees the history after its revision", whole, 8,
			[]Received{received("MODIFIED", "o-1", 9, "a"), received("ADDED", "o-2", 10, "a")}},
		{"an object that leaves the selection is DELETED, as it was before, at the revision of the change", a, 4, []Received{
			received("ADDED", "o-1", 5, "a"), {"DELETED", 7, sample("o-1", 7, "a")[:len(sample("o-1", 7, "a"))-len("7}}")] + "5}}"},
			received("ADDED", "o-1", 9, "a"), received("ADDED", "o-2", 10, "a")}},
		{"an object that was never selected is not DELETED", Query{Version: "v1", Labels: "tier=a", Name: "o-2"}, 4,
			[]Received{received("ADDED", "o-2", 10, "a")}},
		{"another version differs in its apiVersion", Query{Version: "v2"}, 9,
			[]Received{{"ADDED", 10, strings.Replace(sample("o-2", 10, "a"), "example.com/v1", "example.com/v2", 1)}}},
		{"a Table has the cells of the columns and the metadata", Query{Version: "v1", View: "Table"}, 9,
			[]Received{{"ADDED", 10, `{"cells":["o-2","red",10],"object":{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"labels":{"tier":"a"},"name":"o-2","namespace":"default","resourceVersion":"10"}}}`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, small(t).Seen(c.v, c.after)); diff != "" {
				t.Errorf("events after %d (-want +got):\n%s", c.after, diff)
			}
		})
	}
}

func TestTheModelOfAList(t *testing.T) {
	for revision, want := range map[int][]Received{
		4: nil,
		6: {received("ADDED", "o-1", 5, "a"), received("ADDED", "o-2", 6, "b")},
		8: {received("ADDED", "o-1", 7, "b")},
	} {
		if diff := cmp.Diff(want, small(t).Added(Query{Version: "v1"}, revision)); diff != "" {
			t.Errorf("list at %d (-want +got):\n%s", revision, diff)
		}
	}
}

func TestCompareReportsWhatAWatchMustNotDo(t *testing.T) {
	h := small(t)
	v := Query{Version: "v1", Start: FromStart}
	right := h.Seen(v, 4)
	for _, c := range []struct {
		name     string
		start    string
		received []Received
		right    bool
	}{
		{"every event once, in order", FromStart, right, true},
		{"a lost event", FromStart, slices.Delete(slices.Clone(right), 2, 3), false},
		{"an event twice", FromStart, slices.Insert(slices.Clone(right), 2, right[1]), false},
		{"events out of order", FromStart, []Received{right[1], right[0], right[2], right[3], right[4], right[5]}, false},
		{"another object in an event", FromStart, append(slices.Clone(right[:5]), Received{"ADDED", 10, sample("o-2", 10, "b")}), false},
		{"a start without a revision, explained by revision 7", FromEmpty, slices.Concat(h.Added(v, 7), h.Seen(v, 7)), true},
		{"a start without a revision that no revision explains", FromEmpty, slices.Concat(h.Added(v, 6), h.Seen(v, 7)), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := v
			v.Start = c.start
			if diff := (Report{Query: v, StartRevision: 4, Events: c.received}).Compare(h); (diff == "") != c.right {
				t.Errorf("found: %q", diff)
			}
		})
	}
}

// failures is a test that collects its errors.
type failures struct {
	testing.TB
	names []string
}

func (f *failures) Helper() {}
func (f *failures) Errorf(format string, args ...any) {
	f.names = append(f.names, fmt.Sprintf(format, args...))
}

func TestCheckComparesTheHistoryWithTheAnswersOfItsWriters(t *testing.T) {
	const status = `{"kind":"Status"}`
	accepted := []Write{
		{Verb: "create", Key: "default/o-1", Body: sample("o-1", 5, "a")}, {Verb: "create", Key: "default/o-2", Body: sample("o-2", 6, "b")}, {Verb: "update", Key: "default/o-1", Body: sample("o-1", 7, "b")},
		{Verb: "delete", Key: "default/o-2", Body: status}, {Verb: "apply", Key: "default/o-1", Body: sample("o-1", 9, "a")}, {Verb: "create", Key: "default/o-2", Body: sample("o-2", 10, "a")},
	}
	for _, c := range []struct {
		name  string
		wrong func(h *History, accepted []Write) []Write
		want  string
	}{
		{"a history of all writes", func(_ *History, a []Write) []Write { return a }, ""},
		{"an accepted write without an event", func(h *History, a []Write) []Write {
			return append(a, Write{Verb: "update", Key: "default/o-1", Body: sample("o-1", 11, "a")})
		}, "lost: update default/o-1 was answered with revision 11, which no event has"},
		{"two writes with one revision", func(h *History, a []Write) []Write { return append(a, a[2]) },
			"update default/o-1 and update default/o-1 have revision 7"},
		{"a DELETED event of a delete that was cut", func(_ *History, a []Write) []Write {
			a[3] = Write{Verb: "delete", Key: "default/o-2", Cut: true}
			return a
		}, ""},
		{"a DELETED event without a delete", func(_ *History, a []Write) []Write { return slices.Delete(a, 3, 4) },
			"DELETED events without an accepted delete, or the reverse, by object: map[default/o-2:1]"},
		{"revisions that do not rise", func(h *History, a []Write) []Write {
			h.Events[0], h.Events[1] = h.Events[1], h.Events[0]
			return a
		}, "ADDED default/o-1 at 5 comes after an event at 6"},
		{"MODIFIED for a new object", func(h *History, a []Write) []Write {
			h.Events[1].Kind = "MODIFIED"
			return a
		}, "MODIFIED default/o-2 at 6, but the object was there before: false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, f := small(t), &failures{TB: t}
			h.Check(f, c.wrong(h, slices.Clone(accepted)))
			if got := strings.Join(f.names, "\n"); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
