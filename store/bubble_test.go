package store

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A bubble that a goroutine outlives fails the test, so that there is nothing more to check.
func TestBubbleEndsWhenItsStoresAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		first, err := Open(Options{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(buntdbTick / 3) // of the bubble's time: the stores tick at different times
		history(t, first)
		second, err := first.Fork()
		if err != nil {
			t.Fatal(err)
		}
		third, err := Open(Options{})
		if err != nil {
			t.Fatal(err)
		}
		waiting := watch(t, third, "", 0)
		go func() {
			_, err := waiting.Next(t.Context())
			fails(t, "error of a waiting cursor", err, ErrClosed)
		}()
		synctest.Wait()
		first.Close()
		var closed sync.WaitGroup
		for range 2 { // both at once, and each twice
			closed.Go(func() { second.Close() })
			closed.Go(func() { third.Close() })
		}
		closed.Wait()
		if took := time.Since(begin); took > 3*buntdbTick {
			t.Errorf("the bubble's time went on by %v", took)
		}
	})
}

func TestCloseRacesWithEverything(t *testing.T) {
	for range 20 {
		s := open(t, Options{})
		history(t, s)
		start := make(chan struct{})
		var workers sync.WaitGroup
		for _, call := range []func() error{
			func() error { _, err := s.Get("/a/1"); return err },
			func() error { _, err := s.List("", ListOptions{Revision: 3}); return err },
			func() error { _, err := s.Create("/c", Write{}); return err },
			func() error {
				c, err := s.Watch("", 0)
				for err == nil { // until the store is closed
					_, err = c.Next(t.Context())
				}
				return err
			},
			func() error { _, err := s.Snapshot(); return err },
			s.Close,
			s.Close,
		} {
			workers.Go(func() {
				<-start
				if err := call(); err != nil && err != ErrClosed {
					t.Error(err)
				}
			})
		}
		close(start)
		workers.Wait()
	}
}
