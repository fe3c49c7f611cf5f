package remote

import (
	"fmt"

	"github.com/fakecluster/fakecluster/remote/faults"
)

// Inject puts a fault in force, until Stop or the end of the cluster. A fork has none of the faults of its
// origin. In a cluster of Start or Fork, a fault that contradicts itself fails the test at once, and a fault
// that has never fired fails it at the end, unless it is Optional. In a cluster of New or NewFork,
// Injection.Err and Close return these errors.
func (c *Cluster) Inject(f faults.Fault) faults.Injection {
	if c.test != nil {
		c.test.Helper()
	}
	i := &injection{c: c, fault: f}
	var answer struct{ Fault int }
	if i.err = c.do("POST", "/faults", f, &answer); i.err != nil {
		c.blame(i.err)
	}
	i.path = fmt.Sprintf("/faults/%d", answer.Fault)
	return i
}

// injection is a fault in force.
type injection struct {
	c     *Cluster
	fault faults.Fault
	path  string
	err   error
}

func (i *injection) Fault() faults.Fault { return i.fault }
func (i *injection) Err() error          { return i.err }

func (i *injection) Fired() int {
	if i.err != nil {
		return 0
	}
	var answer struct{ Fired int }
	i.c.get(i.path, &answer)
	return answer.Fired
}

func (i *injection) Stop() {
	if i.err != nil {
		return
	}
	if err := i.c.do("DELETE", i.path, nil, nil); err != nil {
		i.c.blame(err)
	}
}

// Hold holds back the events of all watches, including watches that begin later, until the test delivers
// them. There is one Hold at a time: a second one fails the test, and in a cluster of New it is an error of
// Close.
func (c *Cluster) Hold() faults.Hold {
	if c.test != nil {
		c.test.Helper()
	}
	if err := c.do("POST", "/hold", nil, nil); err != nil {
		c.blame(err)
	}
	return hold{c}
}

type hold struct{ c *Cluster }

func (h hold) Pending() []faults.Delivery { return h.pending("") }
func (h hold) Wait() []faults.Delivery    { return h.pending("?wait=true") }

func (h hold) pending(query string) []faults.Delivery {
	var answer struct{ Pending []faults.Delivery }
	h.c.get("/hold"+query, &answer)
	return answer.Pending
}

func (h hold) Deliver(n int) int {
	if n == 0 {
		return 0
	}
	return h.deliver("first", n)
}

func (h hold) DeliverThese(events ...faults.Delivery) int {
	if len(events) == 0 {
		return 0
	}
	return h.deliver("events", events)
}

func (h hold) DeliverKind(resource string) int { return h.deliver("resource", resource) }
func (h hold) DeliverTo(userAgent string) int  { return h.deliver("userAgent", userAgent) }

func (h hold) deliver(what string, value any) int {
	var answer struct{ Delivered int }
	if err := h.c.do("POST", "/hold/deliver", map[string]any{what: value}, &answer); err != nil {
		h.c.blame(err)
	}
	return answer.Delivered
}

func (h hold) Release() {
	if err := h.c.do("DELETE", "/hold", nil, nil); err != nil {
		h.c.blame(err)
	}
}
