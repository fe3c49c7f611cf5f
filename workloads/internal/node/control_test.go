package node

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestHeartbeatsAndQueueStopTogether proves that a node that is stopped and resumed at the same time never sends heartbeats while its queue is paused, and
// never works on its queue while the heartbeats are stopped.
func TestHeartbeatsAndQueueStopTogether(t *testing.T) {
	n := &node{queue: newQueue(), registration: &registration{}}
	state := func() (stopped, paused bool) {
		n.halting.Lock()
		defer n.halting.Unlock()
		n.queue.mu.Lock()
		paused = n.queue.paused
		n.queue.mu.Unlock()
		n.registration.mu.Lock()
		defer n.registration.mu.Unlock()
		return n.registration.stopped, paused
	}
	var calls sync.WaitGroup
	defer calls.Wait()
	for _, on := range []bool{true, false} {
		calls.Go(func() {
			for range 1_000_000 {
				n.halt(on)
			}
		})
	}
	var finished atomic.Bool
	go func() {
		calls.Wait()
		finished.Store(true)
	}()
	for last := false; !last; {
		last = finished.Load()
		if stopped, paused := state(); stopped != paused {
			t.Fatalf("heartbeats are stopped: %t, the queue is paused: %t", stopped, paused)
		}
	}
}
