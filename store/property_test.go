package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// contention is several writers that contend for few keys.
type contention struct {
	writers, writes, keys int
}

func (c contention) key(random *rand.Rand) string {
	return fmt.Sprintf("/%d/%02d", random.IntN(3), random.IntN(c.keys))
}

// run lets the writers write, and others do beside them what they do until the writers have done. It returns what the
// writers got, as events without Previous, in the order of the revisions.
func (c contention) run(t *testing.T, random *rand.Rand, s *Store, others ...func(ctx context.Context, random *rand.Rand)) []*Event {
	t.Helper()
	source := func() *rand.Rand { return rand.New(rand.NewPCG(random.Uint64(), 0)) }

	ctx, done := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	for _, other := range others {
		r := source()
		beside.Go(func() { other(ctx, r) })
	}
	committed := make([][]*Event, c.writers)
	var writers sync.WaitGroup
	for i := range committed {
		r := source()
		writers.Go(func() {
			for range c.writes {
				if e := c.write(t, s, r); e != nil {
					committed[i] = append(committed[i], e)
				}
				runtime.Gosched()
			}
		})
	}
	writers.Wait()
	done()
	beside.Wait()
	return slices.SortedFunc(slices.Values(slices.Concat(committed...)), func(a, b *Event) int {
		return int(a.Record.Revision - b.Record.Revision)
	})
}

// write makes one attempt, and returns nil if another writer was faster.
func (c contention) write(t *testing.T, s *Store, random *rand.Rand) *Event {
	key := c.key(random)
	w := Write{Tag: "tag", Index: strings.Repeat("i", random.IntN(200)), Make: func(revision int64) string { return fmt.Sprintf("%s at %d", key, revision) }}
	var e Event
	current, err := s.Get(key)
	switch {
	case err != nil:
		e.Type = Created
		e.Record, err = s.Create(key, w)
	case random.IntN(3) == 0:
		e.Type = Deleted
		e.Record, err = s.Delete(key, current.Revision, w)
	default:
		e.Type = Updated
		e.Record, err = s.Update(key, current.Revision, w)
	}
	var exists *ExistsError
	var conflict *ConflictError
	switch {
	case err == nil:
		return &e
	case errors.As(err, &exists), errors.Is(err, ErrNotFound):
	case errors.As(err, &conflict):
		if conflict.Current.Revision <= current.Revision {
			t.Errorf("a conflict with the past: %v", err)
		}
	default:
		t.Errorf("write of %q: %v", key, err)
	}
	return nil
}

// replay returns the records that events make, of those up to a revision, by key.
func replay(events []*Event, revision int64) map[string]Record {
	records := make(map[string]Record)
	for _, e := range events {
		if e.Record.Revision > revision {
			break
		}
		if e.Type == Deleted {
			delete(records, e.Record.Key)
		} else {
			records[e.Record.Key] = e.Record
		}
	}
	return records
}

func TestTheLogHasTheCommittedWrites(t *testing.T) {
	s := open(t, Options{})
	committed := contention{writers: 4, writes: 500, keys: 10}.run(t, seedtest.Rand(t), s)
	events := s.log.events()
	for i, e := range events {
		equal(t, "previous record", *e.Previous, replay(committed, e.Record.Revision-1)[e.Record.Key])
		without := *e
		without.Previous = nil
		equal(t, "event", &without, committed[i])
		if e.Record.Revision != int64(i+2) || t.Failed() {
			t.Fatalf("event %d: %+v", i, e)
		}
	}
	equal(t, "number of events", len(events), len(committed))
}

func TestEveryWatcherSeesEveryChangeOnceInOrder(t *testing.T) {
	type watcher struct {
		prefix string
		after  int64
		seen   []*Event
	}
	s := open(t, Options{})
	history(t, s)
	watchers := make(chan watcher, 100)
	watching := func(ctx context.Context, random *rand.Rand) {
		for range random.IntN(500) { // some come late
			runtime.Gosched()
		}
		w := watcher{
			prefix: []string{"", "/", "/0/", "/1/", "/2/0", "/2/07"}[random.IntN(6)],
			after:  s.Revision(),
		}
		if random.IntN(2) == 0 {
			w.after = 1 + random.Int64N(w.after)
		}
		c := watch(t, s, w.prefix, w.after)
		read := c.Next
		if random.IntN(2) == 0 {
			read = func(ctx context.Context) ([]*Event, error) {
				changed := c.Changed()
				if events, err := c.Poll(); len(events) > 0 || err != nil {
					return events, err
				}
				select {
				case <-changed:
					return nil, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
		}
		for {
			events, err := read(ctx)
			w.seen = append(w.seen, events...)
			if err != nil {
				break // the writers have done
			}
			for range random.IntN(20) { // some are slow
				runtime.Gosched()
			}
		}
		for {
			events, err := c.Poll()
			if err != nil {
				t.Errorf("watcher of %q after %d: %v", w.prefix, w.after, err)
			}
			if len(events) == 0 {
				break
			}
			w.seen = append(w.seen, events...)
		}
		watchers <- w
	}
	contention{writers: 4, writes: 1000, keys: 10}.run(t, seedtest.Rand(t), s, slices.Repeat([]func(context.Context, *rand.Rand){watching}, cap(watchers))...)
	close(watchers)
	for w := range watchers {
		var want []*Event
		for _, e := range s.log.events() {
			if e.Record.Revision > w.after && strings.HasPrefix(e.Record.Key, w.prefix) {
				want = append(want, e)
			}
		}
		if !slices.Equal(w.seen, want) {
			t.Errorf("watcher of %q after %d saw %d events, want %d, or others",
				w.prefix, w.after, len(w.seen), len(want))
		}
	}
}

func TestReadsAtARevisionEqualAReplay(t *testing.T) {
	type get struct {
		key      string
		revision int64
		found    Record
	}
	type page struct {
		prefix  string
		options ListOptions
		list    List
	}
	c := contention{writers: 3, writes: 300, keys: 20}
	for name, o := range map[string]Options{"all of the history": {}, "a short history": {HistoryRevisions: 50}} {
		t.Run(name, func(t *testing.T) {
			random := seedtest.Rand(t)
			opened := open(t, o)
			committed := c.run(t, random, opened)
			s := fork(t, opened) // which has records in both of its layers

			gets, pages := make(chan get, 1000), make(chan page, 1000)
			forgotten := func(err error) bool {
				var compacted *CompactedError
				if errors.As(err, &compacted) {
					return true
				}
				if err != nil && !errors.Is(err, ErrNotFound) {
					t.Errorf("read: %v", err)
				}
				return false
			}
			reading := func(_ context.Context, random *rand.Rand) {
				for range cap(gets) / 4 {
					revision := max(s.Oldest(), s.Revision()-random.Int64N(60))
					g := get{key: c.key(random), revision: revision}
					var err error
					if g.found, err = s.GetAt(g.key, g.revision); !forgotten(err) {
						gets <- g
					}
					p := page{
						prefix: []string{"", "/0/", "/1/0"}[random.IntN(3)],
						options: ListOptions{
							Start:    []string{"", c.key(random)}[random.IntN(2)],
							Limit:    random.IntN(10),
							Revision: []int64{0, revision}[random.IntN(2)],
						},
					}
					if p.list, err = s.List(p.prefix, p.options); !forgotten(err) {
						pages <- p
						p.options.Revision = p.list.Revision
						if scan, err := s.Scan(p.prefix, p.options); !forgotten(err) {
							equal(t, "scan", scanned(&scan), p.list)
						}
					}
				}
			}
			committed = append(committed, c.run(t, random, s, reading, reading, reading, reading)...)
			close(gets)
			close(pages)

			for g := range gets {
				equal(t, fmt.Sprintf("get %q at %d", g.key, g.revision), g.found, replay(committed, g.revision)[g.key])
			}
			for p := range pages {
				records := replay(committed, p.list.Revision)
				want := List{Records: []Record{}, Revision: p.list.Revision}
				for _, key := range slices.Sorted(maps.Keys(records)) {
					switch {
					case !strings.HasPrefix(key, p.prefix) || key < p.options.Start:
					case p.options.Limit > 0 && len(want.Records) == p.options.Limit:
						want.Remaining++
					default:
						want.Records = append(want.Records, records[key])
					}
				}
				equal(t, fmt.Sprintf("list %q with %+v", p.prefix, p.options), p.list, want)
				if r := p.options.Revision; r != 0 {
					equal(t, "revision of the list", p.list.Revision, r)
				}
			}
		})
	}
}

// scanned is a scan as a list, read piece by piece.
func scanned(s *Scan) List {
	l := List{Records: []Record{}, Revision: s.Revision, Remaining: s.Remaining}
	for i := range s.Len() {
		r := s.Record(i)
		r.Key, r.Index = s.Key(i), s.Index(i)
		l.Records = append(l.Records, r)
	}
	return l
}
