package rest

import (
	"net/http"
	"slices"
)

// filter puts something before a handler: it answers a request itself, or passes it on.
type filter func(next http.Handler) http.Handler

// filters are what a request passes on its way to the handler, in this order. There is no
// other place where a filter is put before anything.
func (s *Server) filters() []filter {
	return []filter{
		recoverPanics,
		refuseOnceClosed(s.closing),
		forbidCaching,
		parsePath,
		s.trail.audit(s.options.Now),
		answerHealth(s.users),
		authenticate(s.users),
		limitTime,
		recordWarnings,
		impersonate(s.authorizer),
		s.authorize,
	}
}

// behind is a handler behind filters.
func behind(filters []filter, h http.Handler) http.Handler {
	for _, f := range slices.Backward(filters) {
		h = f(h)
	}
	return h
}
