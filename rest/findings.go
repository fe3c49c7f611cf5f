package rest

import (
	"slices"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/auth/authorization"
	"github.com/fakecluster/fakecluster/internal/findings"
)

// Findings returns possible reasons why a test failed: rejected requests, conflicts, panics, objects that changed
// without end or were deleted and still exist, a status or fields that were dropped, kinds that a controller
// owns and does not watch, owned objects that were not created again, webhooks that were never called, and the
// requests of each client. They are at most 60 lines. They are empty if there were no requests.
func (s *Server) Findings(panics ...inspect.Panic) inspect.Findings {
	return findings.Of(s.remembered(panics))
}

// EndlessTimestamps returns the objects into which a controller writes the time in each call, although its own write
// causes the next call. It finds them only in a synctest bubble, once time has advanced.
func (s *Server) EndlessTimestamps() []string { return findings.Timestamps(s.remembered(nil)) }

// LastWrites returns the last writes of clients, at most the given number, the oldest first. Each
// has its changes.
func (s *Server) LastWrites(most int) []string { return findings.LastWrites(s.remembered(nil), most) }

// remembered is the history of the server, with the panics of handlers and controllers.
func (s *Server) remembered(panics []inspect.Panic) findings.Source {
	return findings.Source{Store: s.cluster.Store, History: s.history, Registry: s.cluster.Registry(), Panics: panics, Needs: s.lacks}
}

// lacks returns the rules of a Role that would allow a rejected request.
func (s *Server) lacks(user string) (rules []string) {
	requests := s.access.Of(user)
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
