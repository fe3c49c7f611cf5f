package console

import (
	"slices"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/auth/authorization"
	"github.com/fakecluster/fakecluster/internal/findings"
	"github.com/fakecluster/fakecluster/internal/server"
)

// Findings returns possible reasons why a test failed: rejected requests, conflicts, panics, objects that changed
// without end or were deleted and still exist, a status or fields that were dropped, kinds that a controller owns and
// does not watch, owned objects that were not created again, webhooks that were never called, and the requests of each
// client. They have at most 60 lines, and none if there were no requests.
func Findings(c *server.Cluster, panics ...inspect.Panic) inspect.Findings {
	return findings.Collect(remembered(c, panics))
}

// EndlessTimestamps returns the objects into which a controller writes the time in each call, although its own write
// causes the next call. It finds them only in a synctest bubble, once time has advanced.
func EndlessTimestamps(c *server.Cluster) []string { return findings.Timestamps(remembered(c, nil)) }

// LastWrites returns the last writes of clients, at most the given number, the oldest first. Each
// has its changes.
func LastWrites(c *server.Cluster, most int) []string {
	return findings.LastWrites(remembered(c, nil), most)
}

// remembered returns the source of findings for a cluster and the panics of handlers and controllers.
func remembered(c *server.Cluster, panics []inspect.Panic) findings.Source {
	return findings.Source{
		Store: c.Store, History: c.History, Registry: c.Registry(), Panics: panics,
		Needs: func(user string) []string { return lacks(c.Access.Requested.ByUser(user)) },
	}
}

// lacks returns the rules of a Role that would allow the denied requests of a user.
func lacks(requests []inspect.AccessRequest) (rules []string) {
	refused := slices.DeleteFunc(slices.Clone(requests), func(a inspect.AccessRequest) bool {
		later := a
		later.Allowed = true
		return a.Allowed || slices.Contains(requests, later)
	})
	for _, rule := range authorization.LeastRules(authorization.WithLists(refused)) {
		rules = append(rules, authorization.Compact(rule))
	}
	return rules
}
