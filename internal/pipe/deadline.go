package pipe

import (
	"sync"
	"time"
)

// Deadline ends the waiting for a condition. The lock of the condition guards it.
type Deadline struct {
	passed bool
	timer  *time.Timer
	sets   int // how often it was set
}

// Passed reports whether the deadline has passed.
func (d *Deadline) Passed() bool { return d.passed }

// Set replaces the deadline; the zero time removes it. The caller holds the lock of the condition.
func (d *Deadline) Set(t time.Time, changed *sync.Cond) {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.sets++
	d.passed = false
	if t.IsZero() {
		return
	}
	left := time.Until(t)
	if left <= 0 {
		d.passed = true
		changed.Broadcast()
		return
	}
	set := d.sets
	d.timer = time.AfterFunc(left, func() {
		changed.L.Lock()
		defer changed.L.Unlock()
		if d.sets == set {
			d.passed = true
			changed.Broadcast()
		}
	})
}
