package fakecluster

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/inspect"
)

// Budget limits the requests of a client. The zero value of a field allows everything.
type Budget struct {
	// Client is the name of the program, such as website-operator, as in [inspect.Request.Client]. Empty: all
	// clients except the cluster's own controllers.
	Client string
	// After is the Number of a request, as in [inspect.Request]: only later requests count. 0: all count.
	After int64

	// UpdatesPerObject is how often each object may be changed, by update, patch or apply, of the
	// object and its subresources together.
	UpdatesPerObject int
	// NoBareLists forbids lists without a label or field selector and without a limit, of all
	// namespaces or of one. Watches that begin with the present objects are not lists.
	NoBareLists bool
	// NoRepeats forbids writes that change nothing ([inspect.Request.Repeats]).
	NoRepeats bool
	// NoConflicts forbids writes that are answered with 409 Conflict, because another write came first.
	NoConflicts bool
	// AtRest forbids all requests except watches and those for Leases, which a leader renews. Use it with
	// After, for an operator that has nothing to do.
	AtRest bool
}

// maxBroken is how many different breaches of a budget a message shows.
const maxBroken = 20

// CheckBudget fails the test, with t.Errorf, if a client has exceeded a budget. The
// message has a line for each breach; requests that differ only in the revision that they made share
// one. It also fails the test if the cluster does not remember all requests that count, see
// [Cluster.Requests].
func (c *Cluster) CheckBudget(t testing.TB, b Budget) {
	t.Helper()
	requests := c.Requests()
	if len(requests) > 0 && requests[0].Number > b.After+1 {
		c.TB(t).Errorf("fakecluster: the budget cannot be checked: the cluster has forgotten the requests %d to %d; check it earlier, or set After to the number of a later request", b.After+1, requests[0].Number-1)
	}
	broken := b.breaches(requests)
	if len(broken) > maxBroken {
		broken = append(broken[:maxBroken], fmt.Sprintf("and %d more", len(broken)-maxBroken))
	}
	if len(broken) > 0 {
		c.TB(t).Errorf("fakecluster: more requests than the budget allows:\n\t%s", strings.Join(broken, "\n\t"))
	}
}

// breaches returns a line for each kind of request that the budget does not allow.
func (b Budget) breaches(requests []inspect.Request) (broken []string) {
	updates := map[string]int{}
	more, lines := map[string]int{}, map[string]int{} // by breach without its revision: how often it is repeated, and its line
	for _, r := range requests {
		if r.Number <= b.After || b.Client == "" && r.Cause != 0 || b.Client != "" && r.Client() != b.Client {
			continue
		}
		breach := func(rule string) {
			like := r
			like.Revision = 0
			alike := rule + ": " + like.String()
			if _, ok := lines[alike]; ok {
				more[alike]++
				return
			}
			lines[alike] = len(broken)
			broken = append(broken, rule+": "+r.String())
		}
		if b.NoBareLists && r.Verb == "list" && isBare(r.Options) {
			breach("a list without a selector")
		}
		if b.NoRepeats && r.Repeats {
			breach("a write that changes nothing")
		}
		if b.NoConflicts && r.Reason == "Conflict" {
			breach("a conflict")
		}
		if b.AtRest && r.Verb != "watch" && r.Resource != "leases" {
			breach("a request while the client should be idle")
		}
		if isUpdate(r) {
			request := r
			request.Subresource = ""
			updates[r.Client()+" has written "+request.Object()]++
		}
	}
	for alike, n := range more {
		broken[lines[alike]] += fmt.Sprintf(", and %d more like it", n)
	}
	if b.UpdatesPerObject > 0 {
		for _, who := range slices.Sorted(maps.Keys(updates)) {
			if n := updates[who]; n > b.UpdatesPerObject {
				broken = append(broken, fmt.Sprintf("too many updates of an object: %s %d times, and the budget allows %d", who, n, b.UpdatesPerObject))
			}
		}
	}
	return broken
}

// isBare reports whether the options of a list select nothing.
func isBare(options string) bool {
	query, err := url.ParseQuery(options)
	return err == nil && query.Get("labelSelector") == "" && query.Get("fieldSelector") == "" && query.Get("limit") == ""
}

// isUpdate reports whether a request has updated an object. It also does for an update that changed nothing,
// and for one whose response the client did not get.
func isUpdate(r inspect.Request) bool {
	if r.Verb != "update" && r.Verb != "patch" || r.Code == http.StatusCreated || strings.Contains(r.Options, "dryRun=") {
		return false
	}
	return r.Revisions > 0 || r.Code == http.StatusOK
}
