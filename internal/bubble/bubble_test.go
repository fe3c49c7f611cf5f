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
