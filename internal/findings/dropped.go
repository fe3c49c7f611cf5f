package findings

import (
	"fmt"
	"strings"

	"github.com/fakecluster/fakecluster/inspect"
)

// dropped lists the writes whose status was not kept, equal ones together.
func (c Source) dropped(requests []inspect.Request) []string {
	return c.grouped(requests, func(q *inspect.Request) []string {
		if !q.DropsStatus {
			return nil
		}
		return []string{fmt.Sprintf("its status, which %s take at the subresource alone: at /status, in Go with UpdateStatus or Status().Update", q.Resource)}
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

// faulted lists the requests that a fault applied to and that were answered as without it. Those
// that a fault has refused are listed with the refused ones.
func (c Source) faulted(requests []inspect.Request) []string {
	return c.grouped(requests, func(q *inspect.Request) []string {
		if q.Fault == "" || isRefused(q) {
			return nil
		}
		return []string{q.Fault}
	})
}

// grouped lists texts about requests, those about the same client, verb and object together.
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
