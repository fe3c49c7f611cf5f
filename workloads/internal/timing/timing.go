package timing

import (
	"time"
)

// Retry is the next retry of a failed operation. The delays double.
type Retry struct {
	Time  time.Time
	Delay time.Duration
	Err   string
}

// Failed records a failure, and returns the time of the next try.
func (r *Retry) Failed(now time.Time, first, most time.Duration) time.Time {
	r.Delay = min(max(2*r.Delay, first), most)
	r.Time = now.Add(r.Delay)
	return r.Time
}

// Earlier returns the earlier of two times. It ignores zero times and times before now.
func Earlier(a, b, now time.Time) time.Time {
	if b.IsZero() || !b.After(now) {
		return a
	}
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

const (
	// RetryPeriod is the delay before the kubelet syncs a pod again after an error.
	RetryPeriod = 10 * time.Second
	// ResyncPeriod is the maximum of time that the kubelet waits for the end of a back-off before it records it again.
	ResyncPeriod = time.Minute
)
