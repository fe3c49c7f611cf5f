package controller

import (
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// BenchmarkAnObjectWithoutOwners is what garbage collection adds to the update of
// an object of 1 KiB that has nothing to do with it.
func BenchmarkAnObjectWithoutOwners(b *testing.B) {
	s, err := store.Open(store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	text := strings.Replace(object("a", false, nil), "x", strings.Repeat("some value ", 80), 1)
	text = strings.Replace(text, `"ownerReferences":[{`, `"fields":[{`, 1)
	present, err := s.Create("/a", made(text))
	if err != nil {
		b.Fatal(err)
	}
	g, list := newGraph(), []key(nil)
	for b.Loop() {
		b.StopTimer()
		var changes []write.Commit
		for range 1000 {
			former := present
			if present, err = s.Update("/a", former.Revision, made(text)); err != nil {
				b.Fatal(err)
			}
			changes = append(changes, write.Commit{Record: present, Previous: former})
		}
		b.StartTimer()
		for _, c := range changes {
			g.mu.Lock()
			if err := g.follow(shelf{s}, c.Record.Revision); err != nil {
				b.Fatal(err)
			}
			g.enqueue(func(k key) { list = append(list, k) }, c)
			g.mu.Unlock()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(1000*b.N), "ns/write")
	if len(list) > 0 {
		b.Fatal(list)
	}
}
