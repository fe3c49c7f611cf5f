package rest

import (
	"cmp"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/flowcontrol"
)

// defaultSeats is the sum of --max-requests-inflight and --max-mutating-requests-inflight.
const defaultSeats = 400 + 200

// matchFlow matches requests with FlowSchemas, as upstream's filter of priority and fairness does. It leaves
// out long-running requests other than watches.
func (h *handler) matchFlow(next http.Handler) http.Handler {
	if h.options.FlowControl.Off {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		by, _ := apirequest.UserFrom(req.Context())
		flow := h.beginFlow(w, req, by)
		defer flow.End()
		next.ServeHTTP(w, req)
	})
}

// beginFlow begins the execution of a request of a user, and sets the headers that name its FlowSchema and
// priority level.
func (h *handler) beginFlow(w http.ResponseWriter, req *http.Request, by user.Info) *flowcontrol.Request {
	c, info := contextOf(req), infoOf(req)
	isWatch := info.Verb == "watch"
	if h.options.FlowControl.Off || by == nil || isLongRunning(req, info) && !isWatch {
		return &c.flow
	}
	schema, err := h.cluster.Flows.Match(info, by)
	if err != nil {
		return &c.flow // the store is closed
	}
	header := w.Header()
	header[levelHeader], header[schemaHeader] = []string{schema.LevelUID}, []string{schema.UID}
	c.flow = schema.Begin(isWatch, c.began)
	return &c.flow
}

// The names of the headers, as keys of an http.Header.
var (
	levelHeader  = http.CanonicalHeaderKey(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID)
	schemaHeader = http.CanonicalHeaderKey(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID)
)

// flowMetrics are the metrics of FlowSchemas; nil: there are none.
func (h *handler) flowMetrics() *flowMetrics {
	if h.options.FlowControl.Off {
		return nil
	}
	return &flowMetrics{h.cluster.Flows, cmp.Or(h.options.FlowControl.Seats, defaultSeats)}
}

type flowMetrics struct {
	schemas *flowcontrol.Schemas
	seats   int
}

func (m *flowMetrics) families() ([]*dto.MetricFamily, error) {
	if m == nil {
		return nil, nil
	}
	return m.schemas.Families(m.seats)
}

func (m *flowMetrics) reset() {
	if m != nil {
		m.schemas.Reset()
	}
}
