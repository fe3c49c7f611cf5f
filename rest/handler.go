package rest

import (
	"net/http"
	"sync/atomic"

	"github.com/fakecluster/fakecluster/internal/server"
	"github.com/fakecluster/fakecluster/internal/view"
)

// Handler is an http.Handler that serves the Kubernetes API of a cluster. It is safe for concurrent use. Once
// the cluster is closed it answers with 503; computations of earlier requests may still run, which
// [Handler.Drain] waits for.
type Handler struct {
	options      Options
	cluster      *server.Cluster
	frames       view.Frames
	buffers      buffers
	watches      atomic.Int64 // those that are running
	computations computations
	served       http.Handler // the filters, and what is behind them
}

// New returns the handler of a cluster. It starts no goroutines, and the cluster closes it.
func New(c *server.Cluster, o Options) *Handler {
	h := &Handler{options: o, cluster: c, computations: computations{closing: c.Closing}}
	counts := &requestCounts{flow: h.flowMetrics()}
	h.served = behind(h.filters(counts), paths{resources{h, h.verbs(), h.subresourceVerbs(), counts}, h, c, &openAPI{}, counts})
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) { h.served.ServeHTTP(w, req) }
