package findings

import (
	"fmt"

	"github.com/fakecluster/fakecluster/inspect"
)

// dropped are the writes whose status was not kept, the same ones together.
func (c Cluster) dropped(requests []inspect.Request) []string {
	return c.told(requests, func(q *inspect.Request) []string {
		if !q.DropsStatus {
			return nil
		}
		return []string{fmt.Sprintf("its status, which %s take at the subresource alone: at /status, in Go with UpdateStatus or Status().Update", q.Resource)}
	})
}

// warnings are what answers warned of, the same ones together.
func (c Cluster) warnings(requests []inspect.Request) []string {
	return c.told(requests, func(q *inspect.Request) []string { return q.Warnings })
}

// struck are the requests that a fault has struck, and that were answered as if nothing had happened. Those
// that a fault has refused are told with what was refused.
func (c Cluster) struck(requests []inspect.Request) []string {
	return c.told(requests, func(q *inspect.Request) []string {
		if q.Fault == "" || isRefused(q) {
			return nil
		}
		return []string{q.Fault}
	})
}

// told are texts about requests, those about the same client, verb and object together.
func (c Cluster) told(requests []inspect.Request, of func(*inspect.Request) []string) (lines []string) {
	type group struct{ what, text string }
	counts, newest := map[group]int{}, map[group]*inspect.Request{}
	var order []group
	for i := range requests {
		q := &requests[i]
		for _, text := range of(q) {
			g := group{fmt.Sprintf("%s %s %s", c.client(q), verbOf(q.Verb, q.Patch), q.Object()), text}
			if counts[g]++; counts[g] == 1 {
				newest[g] = q
				order = append(order, g)
			}
		}
	}
	for _, g := range order {
		line := c.after(newest[g].Time) + " " + g.what
		if counts[g] > 1 {
			line += fmt.Sprintf(" (%d times)", counts[g])
		}
		lines = append(lines, line+": "+g.text)
	}
	return lines
}
