package explore

import (
	"context"
	"sync"
	"time"
)

const (
	// burst is how many requests an operator may send at the same moment.
	burst = 500
	// perSecond is how many it may send later. It is few, because each takes real time. An operator that sends more, and changes nothing,
	// is in a loop.
	perSecond = 6
)

// pace lets time pass if an operator sends very many requests. Otherwise two that undo each other's work at once would stop the time
// of the bubble: an operator that does not know yet that an object is deleted creates what it owned, and the garbage collector
// deletes it. In a cluster that ends when the operator hears of the delete.
type pace struct {
	mu      sync.Mutex
	sent    int
	since   time.Time
	delayed int // requests
}

// delayedRequests returns how many requests had to wait.
func (p *pace) delayedRequests() int {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delayed
}

// wait returns when the next request may be sent, or with the error of ctx.
func (p *pace) wait(ctx context.Context) error {
	for first := true; ; first = false {
		p.mu.Lock()
		now := time.Now()
		if refill := int(now.Sub(p.since).Seconds() * perSecond); refill > 0 {
			p.sent, p.since = max(0, p.sent-refill), now
		}
		free := p.sent < burst
		switch {
		case free:
			p.sent++
		case first:
			p.delayed++
		}
		p.mu.Unlock()
		if free {
			return nil
		}
		timer := time.NewTimer(time.Second)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
