package timing

import (
	"time"
)

// Retry is when something that has failed is tried again. The delays double.
type Retry struct {
	Time  time.Time
	Delay time.Duration
	Err   string
}

// Failed notes a failure, and returns when to try again.
func (r *Retry) Failed(now time.Time, first, most time.Duration) time.Time {
	r.Delay = min(max(2*r.Delay, first), most)
	r.Time = now.Add(r.Delay)
	return r.Time
}

// Earlier returns the earlier one of two times, where zero times and times that have passed do not count.
func Earlier(a, b, now time.Time) time.Time {
	if b.IsZero() || !b.After(now) {
		return a
	}
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// Later returns the later one of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

const (
	// RetryPeriod is when the kubelet syncs a pod again after an error.
	RetryPeriod = 10 * time.Second
	// ResyncPeriod is how long the kubelet waits at most for the end of a back-off before it records it again.
	ResyncPeriod = time.Minute
)
