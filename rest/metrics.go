package rest

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	envelopemetrics "k8s.io/apiserver/pkg/storage/value/encrypt/envelope/metrics"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/fakecluster/fakecluster/internal/flowcontrol"
)

// requestTotal is the metric that counts the requests for resources.
const requestTotal = "apiserver_request_total"

// maxCounted limits how many different label sets are counted. Requests with further ones are not.
const maxCounted = 10_000

// requestDuration is the metric of the durations of requests for resources, in seconds.
const requestDuration = "apiserver_request_duration_seconds"

// requestCounts counts the requests to a server. It is safe for concurrent use.
type requestCounts struct {
	flow *flowMetrics

	mu        sync.RWMutex
	counts    map[requestLabels]*requestCount
	durations map[requestLabels]*flowcontrol.Histogram // of labels without a code
}

// requestCount is what is counted of the requests with the same labels.
type requestCount struct {
	atomic.Int64
	duration *flowcontrol.Histogram // in seconds
}

// end counts how long a request has taken.
func (c *requestCount) end(req *http.Request) {
	if c != nil {
		c.duration.Observe(time.Since(contextOf(req).began).Seconds())
	}
}

// durationBuckets are the upper bounds of the classic buckets of durations.
var durationBuckets = []float64{
	0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
}

// requestLabels are the labels of a request, as in upstream's metric.
type requestLabels struct {
	verb, dryRun, group, version, resource, subresource, scope, component string

	code int
}

// add counts a request, and returns what counts those with its labels; nil: there are too many different ones.
func (c *requestCounts) add(labels requestLabels) *requestCount {
	c.mu.RLock()
	count := c.counts[labels]
	c.mu.RUnlock()
	if count == nil {
		if count = c.begin(labels); count == nil {
			return nil
		}
	}
	count.Add(1)
	return count
}

// begin begins to count requests with the labels.
func (c *requestCounts) begin(labels requestLabels) *requestCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := c.counts[labels]
	if count == nil && len(c.counts) < maxCounted {
		if c.counts == nil {
			c.counts, c.durations = map[requestLabels]*requestCount{}, map[requestLabels]*flowcontrol.Histogram{}
		}
		count = &requestCount{}
		c.counts[labels] = count
		labels.code = 0
		if count.duration = c.durations[labels]; count.duration == nil {
			count.duration = flowcontrol.NewHistogram(durationBuckets)
			c.durations[labels] = count.duration
		}
	}
	return count
}

// reset forgets all requests.
func (c *requestCounts) reset() {
	c.flow.reset()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts, c.durations = nil, nil
}

// families are the metrics.
func (c *requestCounts) families() []*dto.MetricFamily {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var total, durations []*dto.Metric
	for labels, count := range c.counts {
		code := flowcontrol.Label("code", strconv.Itoa(labels.code))
		total = append(total, &dto.Metric{Label: append([]*dto.LabelPair{code}, labels.pairs()...), Counter: &dto.Counter{Value: new(float64(count.Load()))}})
	}
	for labels, duration := range c.durations {
		durations = append(durations, duration.Metric(labels.pairs()...))
	}
	return []*dto.MetricFamily{
		flowcontrol.Family(requestTotal, "[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code.",
			dto.MetricType_COUNTER, total...),
		flowcontrol.Family(requestDuration, "[STABLE] Response latency distribution in seconds for each verb, dry run value, group, version, resource, subresource, scope and component.",
			dto.MetricType_HISTOGRAM, durations...),
	}
}

// pairs are the labels of a metric, without the code.
func (l requestLabels) pairs() (pairs []*dto.LabelPair) {
	for _, pair := range [][2]string{
		{"component", l.component}, {"dry_run", l.dryRun}, {"group", l.group}, {"resource", l.resource},
		{"scope", l.scope}, {"subresource", l.subresource}, {"verb", l.verb}, {"version", l.version},
	} {
		pairs = append(pairs, flowcontrol.Label(pair[0], pair[1]))
	}
	return pairs
}

// labelsOf are the labels of a request for a resource that is served.
func labelsOf(r *request, code int) requestLabels {
	labels := requestLabels{
		component: "apiserver", verb: metricVerb(r.http, r.info), group: r.info.APIGroup, version: r.info.APIVersion, resource: r.version.Resource.Names.Plural, code: code,
	}
	if r.info.Subresource != "" && r.version.Subresource[r.info.Subresource] != nil {
		labels.subresource = r.info.Subresource
	}
	switch {
	case r.info.Name != "" || r.info.Verb == "create":
		labels.scope = "resource"
	case r.info.Namespace != "":
		labels.scope = "namespace"
	default:
		labels.scope = "cluster"
	}
	if strings.Contains(r.http.URL.RawQuery, "dryRun="+metav1.DryRunAll) {
		labels.dryRun = metav1.DryRunAll
	}
	return labels
}

// metricVerb is the verb of a request as the metric names it.
func metricVerb(req *http.Request, info *apirequest.RequestInfo) string {
	switch info.Verb {
	case "get":
		return http.MethodGet
	case "create":
		return http.MethodPost
	case "update":
		return http.MethodPut
	case "patch":
		if strings.HasPrefix(req.Header.Get("Content-Type"), string(types.ApplyYAMLPatchType)) {
			return "APPLY"
		}
	}
	return strings.ToUpper(info.Verb)
}

// health answers a health check, and counts it, unless it is a
// single check.
func (c *requestCounts) health(w http.ResponseWriter, req *http.Request) {
	if isHealthRoot(req.URL.Path) && req.Method == http.MethodGet {
		count := c.add(requestLabels{verb: http.MethodGet, subresource: req.URL.Path, code: http.StatusOK}) // all checks pass
		defer count.end(req)
	}
	health().ServeHTTP(w, req)
}

// counted is a response that is counted when its header is written: before the client can read
// it. A watch is counted when it begins.
type counted struct {
	http.ResponseWriter
	request *request
	by      *requestCounts
	done    bool
	count   *requestCount // nil: it is not counted
}

// Unwrap is for http.ResponseController.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (c *counted) WriteHeader(code int) {
	if !c.done && c.request.version != nil {
		c.count = c.by.add(labelsOf(c.request, code))
	}
	c.done = true
	c.ResponseWriter.WriteHeader(code)
}

// WriteString implements io.StringWriter, so that large answers are not copied.
func (c *counted) WriteString(s string) (int, error) {
	if w, ok := c.ResponseWriter.(interface{ WriteString(string) (int, error) }); ok {
		return w.WriteString(s)
	}
	return c.ResponseWriter.Write([]byte(s))
}

// Flush implements http.Flusher, which watches need.
func (c *counted) Flush() {
	_ = http.NewResponseController(c.ResponseWriter).Flush() // the client may have gone
}

// serveMetrics answers with the metrics of upstream's code, which all clusters of the process share, and of
// the requests to this server. A DELETE sets all of them to zero.
func (c *requestCounts) serveMetrics(w http.ResponseWriter, req *http.Request) {
	envelopemetrics.RegisterMetrics() // one of them has a value before it is used
	if req.Method == http.MethodDelete {
		legacyregistry.Reset()
		c.reset()
		_, _ = w.Write([]byte("metrics reset\n")) // the client may have gone
		return
	}
	metrics.HandlerFor(gather(c.gather), metrics.HandlerOpts{ProcessStartTime: legacyregistry.GetProcessStart()}).ServeHTTP(w, req)
}

func (c *requestCounts) gather() ([]*dto.MetricFamily, error) {
	families, err := legacyregistry.DefaultGatherer.Gather()
	flows, failed := c.flow.families()
	if err = errors.Join(err, failed); err != nil {
		return families, err
	}
	own := slices.DeleteFunc(append(c.families(), flows...), func(f *dto.MetricFamily) bool { return f == nil })
	families = append(slices.DeleteFunc(families, func(f *dto.MetricFamily) bool {
		return f.GetName() == requestTotal || f.GetName() == requestDuration || strings.HasPrefix(f.GetName(), "apiserver_flowcontrol_")
	}), own...)
	slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return families, nil
}

// gather is a function that is a metrics.Gatherer.
type gather func() ([]*dto.MetricFamily, error)

// Gather implements metrics.Gatherer.
func (g gather) Gather() ([]*dto.MetricFamily, error) { return g() }
