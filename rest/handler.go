package rest

import (
	"net/http"
	"sync/atomic"

	"github.com/fakecluster/fakecluster/internal/server"
	"github.com/fakecluster/fakecluster/internal/view"
)

// Handler is an http.Handler that serves the Kubernetes API of a cluster. It is
// safe for concurrent use. It ends with the cluster, except for what Drain waits for.
type Handler struct {
	options      Options
	cluster      *server.Cluster
	frames       view.Frames
	buffers      buffers
	watches      atomic.Int64 // those that are running
	computations computations
	served       http.Handler // the filters, and what is behind them
}

// New makes the handler of a cluster.
func New(c *server.Cluster, o Options) *Handler {
	h := &Handler{options: o, cluster: c, computations: computations{closing: c.Closing}}
	counts := &requestCounts{flow: h.flowMetrics()}
	h.served = behind(h.filters(counts), paths{resources{h, h.verbs(), h.subresourceVerbs(), counts}, h, c, &openAPI{}, counts})
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) { h.served.ServeHTTP(w, req) }
