package rest

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/fakecluster/fakecluster/internal/builtin"
)

// filter wraps a handler: it answers a request itself, or passes it on.
type filter func(next http.Handler) http.Handler

// filters returns the filters that a request passes on its way to the handler, in this
// order. No other code of the package wraps a handler.
func (s *Server) filters(cluster builtin.Cluster, counts *requestCounts) []filter {
	return []filter{
		recoverPanics,
		refuseOnceClosed(s.closing),
		forbidCaching,
		demandHTTPS(s.options.StrictTransportSecurity),
		giveContext(cluster),
		parsePath,
		record(s.history),
		s.trail.audit(s.options.Now),
		allowOrigins(s.options.AllowedOrigins),
		answerHealth(s.users, counts),
		authenticate(s.users),
		s.explainWrites,
		limitTime(cmp.Or(s.options.RequestTimeout, requestTimeout)),
		impersonate(s.authorizer),
		s.injectFaults,
		s.authorize,
	}
}

// behind puts filters before a handler.
func behind(filters []filter, h http.Handler) http.Handler {
	for _, f := range slices.Backward(filters) {
		h = f(h)
	}
	return h
}
