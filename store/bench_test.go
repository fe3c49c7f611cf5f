package store

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// populated returns a store of n objects of 1 KB, written in a random order, and their records.
func populated(b *testing.B, n int) (*Store, []Record) {
	b.Helper()
	s := open(b, Options{})
	random := rand.New(rand.NewPCG(1, 2))
	records := make([]Record, n)
	for _, i := range random.Perm(n) {
		r, err := s.Create(benchKey(i), kilobyte())
		if err != nil {
			b.Fatal(err)
		}
		records[i] = r
	}
	random.Shuffle(n, func(i, j int) { records[i], records[j] = records[j], records[i] })
	return s, records
}

func benchKey(i int) string {
	return fmt.Sprintf("/registry/stable.example.com/crontabs/default/object-%07d", i)
}

// kilobyte is a write whose value is ready: what is measured is the store, which copies it, and not its making.
func kilobyte() Write {
	return Write{Tag: "v1", Make: func(int64) string { return ready }}
}

var ready = strings.Repeat("x", 1024)

var sizes = []int{1_000, 10_000, 100_000}

func sized(b *testing.B, f func(b *testing.B, s *Store, records []Record)) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) {
			s, records := populated(b, n)
			runtime.GC()
			f(b, s, records)
		})
	}
}

// BenchmarkCreate creates among the others, in no order, and deletes off the clock to stay at their number.
func BenchmarkCreate(b *testing.B) {
	sized(b, func(b *testing.B, s *Store, records []Record) {
		created := make([]Record, 0, len(records)/10)
		for b.Loop() {
			if len(created) == cap(created) {
				b.StopTimer()
				for _, r := range created {
					remove(b, s, r)
				}
				created = created[:0]
				b.StartTimer()
			}
			r, err := s.Create(records[len(created)].Key+"-new", kilobyte())
			if err != nil {
				b.Fatal(err)
			}
			created = append(created, r)
		}
	})
}

func BenchmarkUpdate(b *testing.B) {
	sized(b, func(b *testing.B, s *Store, records []Record) {
		i := 0
		for b.Loop() {
			r := &records[i%len(records)]
			i++
			var err error
			if *r, err = s.Update(r.Key, r.Revision, kilobyte()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkGet(b *testing.B) {
	sized(b, func(b *testing.B, s *Store, records []Record) {
		i := 0
		for b.Loop() {
			if _, err := s.Get(records[i%len(records)].Key); err != nil {
				b.Fatal(err)
			}
			i++
		}
	})
}

// BenchmarkList reads pages of 1000 at changing places, with their count of what remains.
func BenchmarkList(b *testing.B) {
	sized(b, func(b *testing.B, s *Store, records []Record) {
		i := 0
		for b.Loop() {
			start := benchKey(i % (len(records) - 999))
			i += 7919
			l, err := s.List("/registry/stable.example.com/crontabs/", ListOptions{Start: start, Limit: 1000})
			if err != nil || len(l.Records) != 1000 {
				b.Fatal(len(l.Records), err)
			}
		}
		b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "objects/s")
	})
}

// BenchmarkScan picks one record of a hundred by what the writer gave to pick by.
func BenchmarkScan(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) {
			s := open(b, Options{})
			for i := range n {
				w := kilobyte()
				w.Index = fmt.Sprintf("%090d", i%100)
				if _, err := s.Create(benchKey(i), w); err != nil {
					b.Fatal(err)
				}
			}
			runtime.GC()
			want := fmt.Sprintf("%090d", 50)
			b.ReportAllocs()
			for b.Loop() {
				scan, err := s.Scan("/registry/", ListOptions{})
				if err != nil {
					b.Fatal(err)
				}
				picked := 0
				for i := range scan.Len() {
					if scan.Index(i) == want {
						picked++
					}
				}
				if picked != n/100 {
					b.Fatal(picked)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "objects/s")
		})
	}
}

// BenchmarkWatch writes while watchers wait for every change, until all have seen it.
func BenchmarkWatch(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("watchers=%d", n), func(b *testing.B) {
			s, records := populated(b, 1000)
			last := s.Revision() + int64(b.N)
			var watchers sync.WaitGroup
			for range n {
				c := watch(b, s, "/registry/", 0)
				watchers.Go(func() {
					for c.Revision() < last {
						if _, err := c.Next(b.Context()); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			b.ResetTimer()
			for i := range b.N {
				r := &records[i%len(records)]
				var err error
				if *r, err = s.Update(r.Key, r.Revision, kilobyte()); err != nil {
					b.Fatal(err)
				}
			}
			watchers.Wait()
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
		})
	}
}

// BenchmarkFork forks a store of 20,000 objects: one that has not changed since the last fork, and one that has.
func BenchmarkFork(b *testing.B) {
	for _, changed := range []bool{false, true} {
		b.Run(fmt.Sprintf("changed=%t", changed), func(b *testing.B) {
			s, records := populated(b, 20_000)
			for i := 0; b.Loop(); i++ {
				if r := &records[i%len(records)]; changed {
					var err error
					if *r, err = s.Update(r.Key, r.Revision, kilobyte()); err != nil {
						b.Fatal(err)
					}
				}
				f, err := s.Fork()
				if err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
		})
	}
}

// BenchmarkHeap reports what an object of 1 KB with one revision takes, its event in the history included.
func BenchmarkHeap(b *testing.B) {
	const objects = 50_000
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		before := heap()
		s, err := Open(Options{})
		if err != nil {
			b.Fatal(err)
		}
		for i := range objects {
			if _, err := s.Create(benchKey(i), kilobyte()); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(heap()-before)/objects, "heap-B/object")
		runtime.KeepAlive(s)
		s.Close()
	}
}
