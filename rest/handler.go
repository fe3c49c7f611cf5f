package rest

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/fakecluster/fakecluster/internal/server"
	"github.com/fakecluster/fakecluster/internal/view"
)

// Handler is an http.Handler that serves the Kubernetes API of a cluster. It is safe for concurrent use. Once
// the cluster is closed it answers with 503; computations of earlier requests may still run, which
// [Handler.Drain] waits for.
type Handler struct {
	filters http.Handler // and what is behind them
	shared  *handler
}

// handler is what the filters and the verbs of a Handler share.
type handler struct {
	options      Options
	cluster      *server.Cluster
	frames       view.Frames
	buffers      buffers
	watches      atomic.Int64 // those that are running
	computations computations
}

// New returns the handler of a cluster. It starts no goroutines, and the cluster closes it.
func New(c *server.Cluster, o Options) *Handler {
	h := &handler{options: o, cluster: c, computations: computations{closing: c.Closing}}
	counts := &requestCounts{flow: h.flowMetrics()}
	last := paths{resources{h, h.verbs(), h.subresourceVerbs(), counts}, h, c, &openAPI{}, counts}
	return &Handler{behind(h.filters(counts), last), h}
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) { h.filters.ServeHTTP(w, req) }

// Drain waits for computations of requests that were answered before these ended, because the time of the
// request was over or the server was closed. It waits for the time longest at most, and then returns an error
// that names the computations that still run. These no longer change anything. Call Drain after the cluster
// is closed.
func (h *Handler) Drain(longest time.Duration) error { return h.shared.computations.drain(longest) }
