package bubble

import (
	"testing"
	"testing/synctest"
)

// The time of a driven bubble stands still on purpose, so that it is not watched.
func TestADrivenBubbleIsNotWatched(t *testing.T) {
	Drive(Driver{})()
	if Driven() {
		t.Error("driven outside of bubbles")
	}
	synctest.Test(t, func(t *testing.T) {
		if Driven() {
			t.Error("driven before Drive")
		}
		failed := ""
		stop := Drive(Driver{Fail: func(mistake string) { failed = mistake }})
		if !Driven() {
			t.Error("not driven after Drive")
		}
		defer Watch(nil, func(Blocked) {})()
		defer WatchPassing(day, func() {}, func() int64 { return 0 }, nil)()
		if len(watched.bubbles)+len(passings.watched) != 0 {
			t.Errorf("watched: %v, %v", watched.bubbles, passings.watched)
		}
		if d, _ := CurrentDriver(); d.Fail != nil {
			d.Fail("mistake")
		}
		if failed != "mistake" {
			t.Errorf("the driver got %q", failed)
		}
		other := make(chan bool)
		go func() { other <- Driven() }()
		if !<-other {
			t.Error("not driven in another goroutine")
		}
		stop()
		if Driven() {
			t.Error("driven after the end")
		}
	})
}
