package rest

import "cmp"

// filters returns the filters that a request passes on its way to the handler, in this
// order. No other code of the package wraps a handler.
//
// The order of those that can refuse a request is that of a real server: it limits the time before
// it authenticates the user, so a timeout that cannot be parsed is rejected for any user.
func (h *handler) filters(counts *requestCounts) []filter {
	return []filter{
		RecoverPanics,
		refuseOnceClosed(h.cluster.Closing),
		forbidCaching,
		demandHTTPS(h.options.StrictTransportSecurity),
		giveContext(h.cluster.Kinds),
		parsePath,
		record(h.cluster.History),
		checkClock(h.cluster.Now),
		recordEvent(h.cluster.Audit, h.cluster.Now),
		limitTime(cmp.Or(h.options.RequestTimeout, requestTimeout)),
		allowOrigins(h.options.AllowedOrigins),
		h.publishClientCAs,
		h.answerHealth(counts),
		authenticate(h.cluster.Users),
		h.explainWrites,
		impersonate(h.cluster.Access),
		h.matchFlow,
		h.injectFaults,
		h.authorize,
		announceReads(h.cluster.Reads),
	}
}
