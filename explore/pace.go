package explore

import (
	"context"
	"sync"
	"time"
)

const (
	// burst is how many requests an operator may send at the same moment.
	burst = 500
	// perSecond is how many requests it may send in each second after that. It is low, because each request
	// takes real time. An operator that sends more, and changes nothing, is in a loop.
	perSecond = 6
)

// pace lets time pass if an operator sends very many requests. Otherwise two programs that undo each other's
// work would stop the time of the bubble. For example, an operator whose cache still has a deleted owner
// creates its dependents, and the garbage collector deletes them. In a real cluster that ends when the
// operator receives the delete.
type pace struct {
	mu      sync.Mutex
	sent    int
	since   time.Time
	delayed int // the number of requests that had to wait
	// expect says that a request goes on after some time; nil: nobody needs to know.
	expect func(time.Duration)
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

// wait waits until the next request may be sent. It returns the error of ctx if that ends first.
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
		if p.expect != nil {
			p.expect(time.Second)
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
