package rest

import "cmp"

// filters returns the filters that a request passes on its way to the handler, in this
// order. No other code of the package wraps a handler.
//
// The order of those that can refuse a request is that of a real server: it limits the time before
// it authenticates the user, so a timeout that cannot be parsed is rejected for any user.
func (s *Server) filters(counts *requestCounts) []filter {
	return []filter{
		RecoverPanics,
		refuseOnceClosed(s.closing),
		forbidCaching,
		demandHTTPS(s.options.StrictTransportSecurity),
		giveContext(s.cluster.Kinds),
		parsePath,
		record(s.history),
		checkClock(s.options.Now),
		s.audit.audit(s.options.Now),
		limitTime(cmp.Or(s.options.RequestTimeout, requestTimeout)),
		allowOrigins(s.options.AllowedOrigins),
		s.publishClientCAs,
		s.answerHealth(counts),
		authenticate(s.cluster.Users),
		s.explainWrites,
		impersonate(s.cluster.Authorizer),
		s.matchFlow,
		s.injectFaults,
		s.authorize,
		s.announceReads,
	}
}
