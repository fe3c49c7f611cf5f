package rest

import (
	"slices"
	"time"

	"github.com/fakecluster/fakecluster/internal/auth"
	"github.com/fakecluster/fakecluster/internal/findings"
)

// Panic is a handler of the test, such as that of a webhook, or a controller that has panicked.
type Panic struct {
	Time    time.Time // by the clock of the server
	Handler string    // what it is, such as the service and the path of a webhook
	What    string    // the value of the panic, and where it was
}

// Findings says what has happened that may be the reason why a test failed: requests that were
// refused, conflicts, panics, objects that changed without end or were deleted and are still there,
// a status or fields that were not kept, kinds that a controller owns and does not watch, owned objects
// that nobody has created again, webhooks that nobody called, and who asked for what. They are at most 60
// lines. There are none if nobody has asked for anything.
func (s *Server) Findings(panics ...Panic) []string { return findings.Of(s.remembered(panics)) }

// remembered is what the server remembers, with the panics of handlers and controllers.
func (s *Server) remembered(panics []Panic) findings.Cluster {
	c := findings.Cluster{Store: s.cluster.Store, History: s.history, Catalogue: s.cluster.Catalogue(), Needs: s.lacks}
	for _, p := range panics {
		c.Panics = append(c.Panics, findings.Panic(p))
	}
	return c
}

// lacks returns the rules that would allow a user what was refused, in the words of a Role.
func (s *Server) lacks(user string) (rules []string) {
	all := s.access.Of(user)
	refused := slices.DeleteFunc(slices.Clone(all), func(a auth.Asked) bool {
		later := a
		later.Allowed = true
		return a.Allowed || slices.Contains(all, later)
	})
	for _, rule := range auth.LeastRules(refused) {
		rules = append(rules, auth.Compact(rule))
	}
	return rules
}
