package rest

import "time"

// Options configure a Handler. The zero value of each field is the default.
type Options struct {
	// StrictTransportSecurity are the directives of the header Strict-Transport-Security, such as
	// max-age=31536000. Without directives, no answer has the header.
	StrictTransportSecurity []string
	// AllowedOrigins are regular expressions of the origins whose web pages may read answers, as in
	// kube-apiserver's flag --cors-allowed-origins. They must be valid. Without them, no answer has CORS
	// headers.
	AllowedOrigins []string
	// RequestTimeout limits the time of a request that is not long-running; 0: a minute. The limit of a write
	// of one object is 34 seconds if that is less, as on a real server.
	RequestTimeout time.Duration
	// MinWatchTimeout is the shortest time of a watch without timeoutSeconds: it ends after a random time
	// between MinWatchTimeout and twice as much. 0: it does not end by itself.
	MinWatchTimeout time.Duration
	// FlowControl says how requests are matched with FlowSchemas.
	FlowControl FlowControl
	// MaxWatches limits how many watches run at a time; 0: 10,000. A further watch is answered with status
	// 429 and a Retry-After of one second.
	MaxWatches int
	// Flags returns the values that /flagz shows for the flags of kube-apiserver, by their names without
	// dashes; nil: it shows none.
	Flags func() map[string]string
	// WithoutProfiling turns off the profiles of the process under /debug/pprof.
	WithoutProfiling bool
}

// FlowControl configures how a server matches requests with FlowSchemas. Requests are never queued.
type FlowControl struct {
	// Off turns matching off. Otherwise the headers X-Kubernetes-PF-* of answers have the uids of the
	// FlowSchema and the PriorityLevelConfiguration, and /metrics counts the requests of each.
	Off bool
	// Seats is how many requests a real server would serve at a time: the sum of --max-requests-inflight and
	// --max-mutating-requests-inflight. The metrics of the priority levels follow from it. 0: 600.
	Seats int
}
