package rest

import "time"

// Options say how a Handler serves. All fields have useful zero values.
type Options struct {
	// StrictTransportSecurity are the directives of the header Strict-Transport-Security; none: no
	// answer has the header.
	StrictTransportSecurity []string
	// AllowedOrigins are regular expressions of the origins whose web pages may read answers; none:
	// no answer has the headers that allow it.
	AllowedOrigins []string
	// RequestTimeout is the longest time of a request that is not a watch; 0: a minute. A write of one
	// object takes at most 34 seconds.
	RequestTimeout time.Duration
	// MinWatchTimeout is the shortest time of a watch without timeoutSeconds: it ends after
	// this time or up to twice as much. 0: it does not end by itself.
	MinWatchTimeout time.Duration
	// FlowControl says how requests are matched with FlowSchemas.
	FlowControl FlowControl
	// MaxWatches is how many watches there may be at a time; 0: 10,000. A further one is
	// answered with status 429 and a Retry-After of one second.
	MaxWatches int
	// Flags returns the flags of kube-apiserver that would configure a server as this one is, each with
	// its value, for /flagz; nil: there are none.
	Flags func() map[string]string
	// WithoutProfiling serves no profiles of the process under /debug/pprof.
	WithoutProfiling bool
}

// FlowControl configures how a server matches requests with FlowSchemas. Requests are never queued.
type FlowControl struct {
	// Off matches no request. Otherwise the headers of answers name the FlowSchema and the
	// PriorityLevelConfiguration, and /metrics counts the requests of each.
	Off bool
	// Seats is how many requests a real server would serve at a time, which the levels share in /metrics;
	// 0: 600.
	Seats int
}
