package store

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// ticking returns how many goroutines of buntdb there are in this bubble.
func ticking() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	n := 0
	for _, stack := range strings.Split(string(stacks), "\n\n") {
		if header, _, _ := strings.Cut(stack, "\n"); strings.Contains(header, "synctest bubble") && strings.Contains(stack, "backgroundManager") {
			n++
		}
	}
	return n
}

// An idle store does not wake any goroutine, however long it is open, and keeps what it has.
func TestAStoreTicksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(Options{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		equal(t, "goroutines of buntdb at first", ticking(), 1)
		for _, key := range []string{"/a", "/b"} {
			if _, err := s.Create(key, value(key)); err != nil {
				t.Fatal(err)
			}
		}
		for _, after := range []time.Duration{0, buntdbTick, 24 * 365 * time.Hour} {
			time.Sleep(after)
			synctest.Wait()
			list, err := s.List("", ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "records after "+after.String(), len(list.Records), 2)
		}
		equal(t, "goroutines of buntdb after a year", ticking(), 0)
		s.Close()
	})
}
