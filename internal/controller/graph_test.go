package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// shelf is a store as a graph sees it.
type shelf struct{ *store.Store }

func (s shelf) everything() (store.List, error)               { return s.List("", store.ListOptions{}) }
func (s shelf) watch(after int64) (*store.Cursor, error)      { return s.Store.Watch("", after) }
func (s shelf) oldest() int64                                 { return s.Oldest() }
func (s shelf) ignored(key string) bool                       { return strings.HasPrefix(key, "/events/") }
func (s shelf) record(t *testing.T, key string) *store.Record { return recordOf(t, s.Store, key) }

func recordOf(t *testing.T, s *store.Store, key string) *store.Record {
	t.Helper()
	list, err := s.List(key, store.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Records) == 0 || list.Records[0].Key != key {
		return nil
	}
	return &list.Records[0]
}

func open(t *testing.T, o store.Options) shelf {
	t.Helper()
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return shelf{s}
}

// object is the JSON of an object that names owners. An exclamation mark after a
// uid says that it blocks that owner's deletion.
func object(uid string, deleting bool, finalizers []string, owners ...string) string {
	fields := []string{fmt.Sprintf(`"uid":%q`, uid), `"namespace":"ns"`}
	if deleting {
		fields = append(fields, `"deletionTimestamp":"2026-01-01T00:00:00Z"`)
	}
	if len(finalizers) > 0 {
		fields = append(fields, fmt.Sprintf(`"finalizers":["%s"]`, strings.Join(finalizers, `","`)))
	}
	var references []string
	for _, owner := range owners {
		name, blocks := strings.CutSuffix(owner, "!")
		references = append(references, fmt.Sprintf(`{"apiVersion":"v1","kind":"K","name":"n","uid":%q,"blockOwnerDeletion":%v}`, name, blocks))
	}
	if len(references) > 0 {
		fields = append(fields, `"ownerReferences":[`+strings.Join(references, ",")+`]`)
	}
	slices.Sort(fields)
	return `{"metadata":{` + strings.Join(fields, ",") + `},"spec":{"template":{"metadata":{"ownerReferences":[{"uid":"not-its-own"}],"deletionTimestamp":"x"}}}}`
}

func made(text string) store.Write { return store.Write{Make: func(int64) string { return text }} }

// edgesAsStored are the edges that the objects of a store come to.
func edgesAsStored(t *testing.T, s shelf) []edge {
	t.Helper()
	records, err := s.everything()
	if err != nil {
		t.Fatal(err)
	}
	edges := []edge{}
	for _, r := range records.Records {
		if s.ignored(r.Key) {
			continue
		}
		o := ownershipOf(r.Value)
		states := map[string]state{}
		for _, owner := range o.owners {
			state := free
			if blocks(owner) {
				state = blocking
			}
			if o.deleting {
				state += leavingBlocks
			}
			if former, ok := states[string(owner.UID)]; !ok || state < former {
				states[string(owner.UID)] = state
			}
		}
		for owner, state := range states {
			edges = append(edges, edge{owner, state, r.Key})
		}
	}
	return edges
}

// check compares a graph with what the store holds.
func (g *graph) check(t *testing.T, s shelf) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.follow(s, s.Revision()); err != nil {
		t.Fatal(err)
	}
	want := newEdges()
	for _, e := range edgesAsStored(t, s) {
		want.Set(e)
	}
	if diff := cmp.Diff(want.Items(), g.edges.Items(), cmp.AllowUnexported(edge{})); diff != "" {
		t.Fatalf("edges (-want +got):\n%s", diff)
	}
	waiting := map[string]string{}
	records, err := s.everything()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records.Records {
		if o := ownershipOf(r.Value); o.deletesDependents() || o.orphansDependents() {
			waiting[o.uid] = r.Key
		}
	}
	if diff := cmp.Diff(waiting, g.waiting); diff != "" {
		t.Fatalf("waiting (-want +got):\n%s", diff)
	}
	for uid := range g.gone {
		if !g.has(uid, blocking, leaving) {
			t.Fatalf("%s is gone, and nothing names it", uid)
		}
	}
	present := uidsOf(records.Records)
	g.edges.Scan(func(e edge) bool {
		_, gone := g.gone[e.owner]
		_, due := g.due[e.dependent]
		if !present[e.owner] && !gone && !due {
			t.Errorf("%s names %s, which is not there: it is not due, and the graph does not know that its owner is gone", e.dependent, e.owner)
		}
		return true
	})
	for key := range g.due {
		if r := s.record(t, key); r == nil || ownersIn(r.Value) == "" || s.ignored(key) {
			t.Fatalf("%s is due, and names no owner", key)
		}
	}
}

// verify evaluates the dependents that are due, as the collector does it if all owners are there. Those of others it leaves for later.
func (g *graph) verify(t *testing.T, s shelf) {
	t.Helper()
	records, err := s.everything()
	if err != nil {
		t.Fatal(err)
	}
	present := uidsOf(records.Records)
	for _, r := range records.Records {
		if !slices.ContainsFunc(ownershipOf(r.Value).owners, func(o metav1.OwnerReference) bool { return !present[string(o.UID)] }) {
			g.done(r.Key, r.Revision, s.Revision())
		}
	}
}

// TestTheGraphIsThatOfTheStore writes at random, forks, and forgets history, and
// compares each graph with its store.
func TestTheGraphIsThatOfTheStore(t *testing.T) {
	for n := range 20 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			random := seedtest.Rand(t)
			s, g := open(t, store.Options{HistoryRevisions: 1 + random.IntN(12)}), newGraph()
			for range 600 {
				key := fmt.Sprintf("/%s/%d", []string{"a", "b", "events"}[random.IntN(3)], random.IntN(12))
				records, err := s.everything()
				if err != nil {
					t.Fatal(err)
				}
				uids := append(slices.Sorted(maps.Keys(uidsOf(records.Records))), "absent")
				var owners []string
				for range random.IntN(4) - 1 {
					owners = append(owners, seedtest.Pick(random, uids...)+[]string{"", "!"}[random.IntN(2)])
				}
				finalizers := [][]string{nil, {"x"}, {"x", "orphan"}, {"foregroundDeletion"}}[random.IntN(4)]
				r := s.record(t, key)
				uid := fmt.Sprintf("%s/%d", key, random.IntN(3)) // an object that comes later under the same key has the uid of this one, or another
				if r != nil {
					uid = ownershipOf(r.Value).uid
				}
				if r != nil && random.IntN(2) == 0 { // the owners stay
					owners = nil
					for _, owner := range ownershipOf(r.Value).owners {
						owners = append(owners, string(owner.UID)+map[bool]string{true: "!"}[blocks(owner)])
					}
				}
				deleting := random.IntN(3) == 0 || r != nil && ownershipOf(r.Value).deleting // for ever
				text := object(uid, deleting, finalizers, owners...)
				switch {
				case r == nil:
					_, err = s.Create(key, made(text))
				case random.IntN(4) == 0:
					_, err = s.Delete(key, r.Revision, store.Write{})
				default:
					_, err = s.Update(key, r.Revision, made(text))
				}
				if err != nil {
					t.Fatal(err)
				}
				switch random.IntN(20) {
				case 0, 1, 2:
					g.check(t, s)
				case 3, 4:
					g.verify(t, s)
				case 5: // the fork goes on, with what the graph knew then
					forked, err := s.Fork()
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { forked.Close() })
					former, old := g, s
					g, s = g.copy(forked.Revision()), shelf{forked}
					if random.IntN(2) == 0 {
						g.check(t, s)
						former.check(t, old)
						g, s = former, old // or it does not
					}
				}
			}
			g.check(t, s)
		})
	}
}

func TestWhichKeysACommitConcerns(t *testing.T) {
	s, g := open(t, store.Options{}), newGraph()
	revision := map[string]int64{}
	// write returns the tasks that a write gives rise to; no text deletes.
	write := func(stored, text string) []key {
		t.Helper()
		var c write.Commit
		var err error
		if r := s.record(t, stored); r != nil {
			c.Previous = *r
		}
		switch {
		case text == "":
			c.Deleted = true
			c.Record, err = s.Delete(stored, c.Previous.Revision, store.Write{})
		case c.Previous.Revision == 0:
			c.Record, err = s.Create(stored, made(text))
		default:
			c.Record, err = s.Update(stored, c.Previous.Revision, made(text))
		}
		if err != nil {
			t.Fatal(err)
		}
		revision[stored] = c.Record.Revision
		var list []key
		g.mu.Lock()
		defer g.mu.Unlock()
		if err := g.follow(s, c.Record.Revision); err != nil {
			t.Fatal(err)
		}
		g.enqueue(func(k key) { list = append(list, k) }, c)
		return list
	}
	expect := func(rule string, got []key, want ...key) {
		t.Helper()
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(key{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", rule, diff)
		}
	}
	verify := func(name string) key { return key{task: verifyOwners, name: name} }
	collect := func(name string) key { return key{name: name} }
	held := []string{"hold"}

	expect("an object without owners: nothing", write("/o", object("o", false, nil)))
	expect("an object with owners: a look at them", write("/a", object("a", false, nil, "o!")), verify("/a"))
	g.done("/a", revision["/a"]-1, s.Revision())
	expect("until a look has been done: again", write("/a", object("a", false, held, "o!")), verify("/a"))
	g.done("/a", revision["/a"], s.Revision())
	expect("a change of something else: nothing", write("/a", object("a", false, nil, "o!")))
	g.postpone("/a", revision["/a"])
	expect("what was refused: again", write("/a", object("a", false, held, "o!")), collect("/a"))
	g.done("/a", revision["/a"], s.Revision())
	expect("a change of the owners: a look", write("/a", object("a", false, held, "o!", "p")), verify("/a"))
	g.done("/a", revision["/a"], s.Revision())
	for _, key := range []string{"/b", "/c", "/d"} {
		write(key, object(key[1:], false, held, "o"))
		g.done(key, revision[key], s.Revision())
	}
	write("/c", object("c", true, held, "o"))

	expect("an owner is marked: nothing", write("/o", object("o", true, held)))
	expect("in the foreground: those that are not being deleted, the blocking first, then the owner",
		write("/o", object("o", true, []string{"foregroundDeletion"})), collect("/a"), collect("/b"), collect("/d"), collect("/o"))
	expect("a dependent is marked: nothing", write("/a", object("a", true, held, "o!", "p")))
	expect("a dependent no longer blocks: the owner, and a look",
		write("/a", object("a", true, held, "o", "p")), verify("/a"), collect("/o"))
	expect("a dependent names another: the owner, and a look", write("/b", object("b", false, held, "p")), verify("/b"), collect("/o"))
	expect("a dependent goes: the owner", write("/d", ""), collect("/o"))
	expect("the owner goes: its dependents", write("/o", ""), collect("/a"), collect("/c"))
	if namespace, gone := g.isGone("o"); namespace != "ns" || !gone {
		t.Errorf("gone: %q, %v", namespace, gone)
	}
	expect("no object waits any more", write("/c", ""))
	write("/a", object("a", true, nil, "o", "p"))
	if _, gone := g.isGone("o"); !gone {
		t.Error("an owner is forgotten that an object still names after it has changed")
	}
	write("/a", object("a", false, nil))
	if _, gone := g.isGone("o"); gone {
		t.Error("an owner is remembered that no object names")
	}

	expect("an orphaning owner", write("/p", object("p", true, []string{"orphan"})), collect("/p"))
	expect("an event: nothing", write("/events/e", object("e", false, nil, "p!")))
}

// TestWhatAForkTakesUp forks a store in which no controller has reacted to the last
// writes.
func TestWhatAForkTakesUp(t *testing.T) {
	for _, tt := range []struct {
		rule      string
		history   int
		ahead     bool // the graph has read what is not in the fork
		evaluated bool // the collector has evaluated what is not in the fork
		want      []key
	}{
		{"what the graph knows and what it reads of the history", 0, false, false, []key{
			{name: "/refused"}, {task: verifyOwners, name: "/unseen"}, // due
			{name: "/left"}, // of one that is gone
			{name: "/of-the-waiting"}, {name: "/waiting"},
		}},
		{"everything, if the history does not go back that far", 1, false, false, []key{
			{task: verifyOwners, name: "/left"}, {task: verifyOwners, name: "/of-the-waiting"}, {name: "/refused"}, {task: verifyOwners, name: "/seen"}, {task: verifyOwners, name: "/unseen"},
			{name: "/of-the-waiting"}, {name: "/waiting"},
		}},
		{"everything, if the graph is ahead", 0, true, false, []key{
			{task: verifyOwners, name: "/left"}, {task: verifyOwners, name: "/of-the-waiting"}, {task: verifyOwners, name: "/refused"}, {task: verifyOwners, name: "/seen"}, {task: verifyOwners, name: "/unseen"},
			{name: "/left"}, // of one that is gone
			{name: "/of-the-waiting"}, {name: "/waiting"},
		}},
		{"everything, if the collector has evaluated what is not in the fork", 0, false, true, []key{
			{task: verifyOwners, name: "/left"}, {task: verifyOwners, name: "/of-the-waiting"}, {task: verifyOwners, name: "/refused"}, {task: verifyOwners, name: "/seen"}, {task: verifyOwners, name: "/unseen"},
			{name: "/left"}, // of one that is gone
			{name: "/of-the-waiting"}, {name: "/waiting"},
		}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s, g := open(t, store.Options{HistoryRevisions: tt.history}), newGraph()
			create := func(key, text string) store.Record {
				t.Helper()
				r, err := s.Create(key, made(text))
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			going := create("/going", object("going", false, nil))
			create("/staying", object("staying", false, nil))
			waiting := create("/waiting", object("waiting", false, nil))
			create("/left", object("left", false, nil, "going"))
			create("/of-the-waiting", object("of-the-waiting", false, nil, "waiting!"))
			create("/seen", object("seen", false, nil, "staying"))
			create("/refused", object("refused", false, nil, "staying"))
			g.check(t, s)
			for _, key := range []string{"/left", "/of-the-waiting", "/seen", "/refused"} {
				g.done(key, s.Revision(), s.Revision())
			}
			g.postpone("/refused", s.Revision())

			create("/unseen", object("unseen", false, nil, "absent"))
			if _, err := s.Delete("/going", going.Revision, store.Write{}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Update("/waiting", waiting.Revision, made(object("waiting", true, []string{"foregroundDeletion"}))); err != nil {
				t.Fatal(err)
			}
			forked, err := s.Fork()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { forked.Close() })
			if tt.ahead {
				create("/later", object("later", false, nil))
				g.check(t, s)
			}
			if tt.evaluated { // the graph learns later that the object is another one now
				r := s.record(t, "/refused")
				if _, err := s.Update("/refused", r.Revision, made(object("refused", false, nil))); err != nil {
					t.Fatal(err)
				}
				g.done("/refused", s.Revision(), s.Revision())
			}
			var list []key
			if err := g.copy(forked.Revision()).resume(shelf{forked}, func(k key) { list = append(list, k) }, forked.Revision()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, list, cmp.AllowUnexported(key{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestForkKnowsTheOwnersThatAreGone forks a store whose history is too short for the deletion of an owner. Then the graph
// of the origin reads on.
func TestForkKnowsTheOwnersThatAreGone(t *testing.T) {
	s, g := open(t, store.Options{HistoryRevisions: 1}), newGraph()
	write := func(key, text string) store.Record {
		t.Helper()
		r, err := s.Create(key, made(text))
		if err != nil {
			t.Fatal(err)
		}
		g.check(t, s)
		return r
	}
	remove := func(r store.Record) {
		t.Helper()
		if _, err := s.Delete(r.Key, r.Revision, store.Write{}); err != nil {
			t.Fatal(err)
		}
		g.check(t, s)
	}
	before, after := write("/before", object("before", false, nil)), write("/after", object("after", false, nil))
	write("/dependent", object("dependent", false, nil, "before", "after"))
	remove(before)
	write("/other", object("other", false, nil))
	forked, err := s.Fork()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { forked.Close() })
	remove(after)

	fork := g.copy(forked.Revision())
	fork.check(t, shelf{forked})
	if _, gone := fork.isGone("before"); !gone {
		t.Error("the fork does not know that an owner is gone")
	}
	if _, gone := fork.isGone("after"); gone {
		t.Error("an owner is gone in the fork that was deleted in the origin later")
	}
}

// TestDeletionThatTheHistoryHasForgotten deletes an owner, and another writer's commit pushes this event out of the history
// before the graph reads it.
func TestDeletionThatTheHistoryHasForgotten(t *testing.T) {
	s, g := open(t, store.Options{HistoryRevisions: 1}), newGraph()
	create := func(key, text string) store.Record {
		t.Helper()
		r, err := s.Create(key, made(text))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	owner := create("/owner", object("owner", false, nil))
	create("/dependent", object("dependent", false, nil, "owner"))
	g.check(t, s)
	gone, err := s.Delete("/owner", owner.Revision, store.Write{})
	if err != nil {
		t.Fatal(err)
	}
	create("/other", object("other", false, nil))
	if err := g.follow(s, gone.Revision); err != nil {
		t.Fatal(err)
	}
	g.enqueue(func(key) {}, write.Commit{Record: gone, Previous: owner, Deleted: true})
	if _, ok := g.isGone("owner"); !ok {
		t.Error("the graph does not know that the owner is gone")
	}
}
