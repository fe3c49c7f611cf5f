package write_test

import (
	"testing"

	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

func TestActivityKnowsWhatIsComplete(t *testing.T) {
	s, err := store.Open(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	a := write.NewActivity(s)
	commit := func(key string) int64 {
		t.Helper()
		r, err := s.Create(key, store.Write{Make: func(int64) string { return "{}" }})
		if err != nil {
			t.Fatal(err)
		}
		return r.Revision
	}
	expect := func(rule string, revision, want int64) {
		t.Helper()
		if got := a.Complete(revision); got != want {
			t.Errorf("%s: complete up to %d, want %d", rule, got, want)
		}
	}
	first := commit("/first")
	expect("at rest", first, first)
	a.Begin()
	second := commit("/second")
	expect("a write is in flight", second, first)
	a.Begin()
	third := commit("/third")
	a.End()
	expect("one of two has ended", third, first)
	a.End()
	expect("both have ended", third, third)
	expect("both have ended, but a fork has only the first commit of them", second, 0)
	a.Begin()
	fourth := commit("/fourth")
	expect("a fork from before the next write", third, third)
	expect("the next write is in flight", fourth, third)
}
