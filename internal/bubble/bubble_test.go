package bubble_test

import (
	"testing"
	"testing/synctest"

	"github.com/fakecluster/fakecluster/internal/bubble"
)

func TestInside(t *testing.T) {
	if bubble.Inside() {
		t.Error("inside before a bubble")
	}
	synctest.Test(t, func(t *testing.T) {
		if !bubble.Inside() {
			t.Error("not inside in a bubble")
		}
		ch := make(chan bool)
		go func() { ch <- bubble.Inside() }()
		if !<-ch {
			t.Error("not inside in a goroutine of a bubble")
		}
	})
	if bubble.Inside() {
		t.Error("inside after a bubble")
	}
}

func TestIsOuter(t *testing.T) {
	outer, wrapped := t, struct{ testing.TB }{t}
	if bubble.IsOuter(outer) {
		t.Error("a test is outside of a bubble, and no bubble is there")
	}
	synctest.Test(t, func(t *testing.T) {
		if !bubble.IsOuter(outer) {
			t.Error("the outer test is not found")
		}
		if bubble.IsOuter(t) || bubble.IsOuter(wrapped) {
			t.Error("the test of the bubble counts as outer, or a type without Deadline")
		}
	})
}
