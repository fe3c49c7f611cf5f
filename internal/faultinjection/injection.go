package faultinjection

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/fakecluster/fakecluster/faults"
)

// Injection is an injected fault, with its counters. It implements faults.Injection.
type Injection struct {
	fault  faults.Fault
	engine *Engine

	mu       sync.Mutex
	random   *rand.Rand // nil: the fault has no probability
	matched  int
	fired    int
	near     int       // number of requests that differed in one criterion only
	nearest  criterion // of the last of those
	stopped  bool
	reserved int // strikes in fired that may be refunded
}

// Fault returns the fault.
func (i *Injection) Fault() faults.Fault { return i.fault }

// Err returns nil: the fault has been injected.
func (i *Injection) Err() error { return nil }

// Fired returns how many requests, watches or calls the fault has struck.
func (i *Injection) Fired() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fired - i.reserved
}

// Matched returns how many requests have matched the fault, struck or not.
func (i *Injection) Matched() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.matched
}

// Stop ends the fault. Requests that it has already struck are not affected.
func (i *Injection) Stop() {
	i.mu.Lock()
	stopped := i.stopped
	i.stopped = true
	i.mu.Unlock()
	if !stopped {
		i.engine.remove(i)
	}
}

// Unfired returns why a fault that is not Optional has not struck; empty: it has struck, or need not.
func (i *Injection) Unfired() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.fired > i.reserved || i.fault.Optional {
		return ""
	}
	text := fmt.Sprintf("the fault never fired: %s", i.fault)
	switch {
	case i.matched > 0:
		return fmt.Sprintf("%s; requests that matched: %d", text, i.matched)
	case i.near > 0:
		return fmt.Sprintf("%s; no request matched; %s in one field only: the last has the %s %q", text,
			plural(i.near, "1 request differs", "%d requests differ"), i.nearest.field, i.nearest.found)
	}
	if i.fault.Effect.Type == faults.EffectFailConversion {
		return text + "; no conversion webhook was called for the resource"
	}
	return text + "; no request matched"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(many, n)
}

// take counts a request and reports whether the fault strikes it. The strike is reserved until keep or refund.
func (i *Injection) take(r *Request) bool {
	missed := differences(&i.fault, r)
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(missed) > 0 {
		if len(missed) == 1 {
			i.near++
			i.nearest = missed[0]
		}
		return false
	}
	return i.strikes()
}

// strikes counts a match. The caller holds the lock.
func (i *Injection) strikes() bool {
	if i.stopped {
		return false
	}
	i.matched++
	if i.matched <= i.fault.After || i.fault.Times > 0 && i.fired >= i.fault.Times {
		return false
	}
	if i.random != nil && i.random.Float64() >= i.fault.Probability {
		return false
	}
	i.fired++
	i.reserved++
	return true
}

// keep records that a strike has had its effect.
func (i *Injection) keep() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.reserved--
}

// refund records that a strike has had no effect.
func (i *Injection) refund() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.reserved--
	i.fired--
}
