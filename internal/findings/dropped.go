package findings

import (
	"fmt"
	"strings"

	"github.com/fakecluster/fakecluster/inspect"
)

// dropped lists the writes whose status the server did not store, equal ones together.
func (c Source) dropped(requests []inspect.Request) []string {
	return c.grouped(requests, func(q *inspect.Request) []string {
		if !q.DropsStatus {
			return nil
		}
		return []string{fmt.Sprintf("its status: %s take it only at the subresource /status, in Go with UpdateStatus or Status().Update", q.Resource)}
	})
}

// warnings lists the warnings of responses, equal ones together.
func (c Source) warnings(requests []inspect.Request) []string {
	return c.grouped(requests, func(q *inspect.Request) []string {
		if strings.HasPrefix(q.User, "system:kube-controller-manager") {
			return nil // its informers also follow deprecated kinds
		}
		return q.Warnings
	})
}

// faulted lists the requests that a fault struck without changing their answer. refused lists those that a fault
// rejected.
func (c Source) faulted(requests []inspect.Request) []string {
	return c.grouped(requests, func(q *inspect.Request) []string {
		if q.Fault == "" || isRefused(q) {
			return nil
		}
		return []string{q.Fault}
	})
}

// grouped lists texts about requests. Equal texts about the same client, verb and object are one line.
func (c Source) grouped(requests []inspect.Request, paths func(*inspect.Request) []string) (lines []string) {
	type group struct{ what, text string }
	counts, newest := map[group]int{}, map[group]*inspect.Request{}
	var order []group
	for i := range requests {
		q := &requests[i]
		for _, text := range paths(q) {
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
