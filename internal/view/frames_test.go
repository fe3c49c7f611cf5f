package view

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
)

// All who ask for a frame of a change get the one that was made first, however many
// ask at once, and whatever else is made meanwhile.
func TestFramesAreMadeOnceAChange(t *testing.T) {
	const changes, watchers = 300, 20
	var f Frames
	var made [changes][2]atomic.Int64
	var readers sync.WaitGroup
	for range watchers {
		readers.Go(func() {
			for n := range changes {
				for view := range 2 {
					want := fmt.Sprintf("change %d in view %d", n, view)
					got, err := f.get(int64(n+1), frameKey{second: int64(view)}, func() (string, error) {
						made[n][view].Add(1)
						return strings.Clone(want), nil
					})
					if got != want || err != nil {
						t.Errorf("got %q, %v, want %q", got, err, want)
					}
				}
			}
		})
	}
	readers.Wait()
	for n := range made {
		for view := range made[n] {
			if got := made[n][view].Load(); got != 1 {
				t.Errorf("change %d in view %d was made %d times", n, view, got)
			}
		}
	}
}

func TestFramesThatAreNotShared(t *testing.T) {
	var f Frames
	n := 0
	count := func() (string, error) { n++; return fmt.Sprint(n), nil }
	get := func(what string, revision int64, key frameKey, want string) {
		t.Helper()
		if got, err := f.get(revision, key, count); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", what, got, err, want)
		}
	}
	get("the first", 7, frameKey{}, "1")
	get("the same", 7, frameKey{}, "1")
	get("another view", 7, frameKey{headers: true}, "2")
	get("another kind of event", 7, frameKey{kind: watch.Deleted}, "3")
	get("another change", 8, frameKey{}, "4")
	get("much newer, in the place of the first", 7+rememberedChanges, frameKey{}, "5")
	get("the first, which has been forgotten", 7, frameKey{}, "6")
	get("again: what is old is not remembered", 7, frameKey{}, "7")
	get("the newer one", 7+rememberedChanges, frameKey{}, "5")

	if _, err := f.get(9, frameKey{}, func() (string, error) { return strings.Repeat("x", rememberedBytes), nil }); err != nil {
		t.Error(err)
	}
	get("after more bytes than are remembered", 8, frameKey{}, "8")
}

func TestAFrameThatFailsIsTriedAgain(t *testing.T) {
	var f Frames
	failed := errors.New("failed")
	_, err := f.get(7, frameKey{}, func() (string, error) { return "", failed })
	if err != failed {
		t.Errorf("got %v, want %v", err, failed)
	}
	func() {
		defer func() { recover() }()
		f.get(7, frameKey{}, func() (string, error) { panic("in a conversion") })
	}()
	if got, err := f.get(7, frameKey{}, func() (string, error) { return "made", nil }); got != "made" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
