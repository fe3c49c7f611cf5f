package rest

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// requestTotal is the metric that counts the requests for resources.
const requestTotal = "apiserver_request_total"

// maxCounted is how many kinds of requests are counted. Further ones are not.
const maxCounted = 10_000

// requestCounts counts the requests to a server. It is safe for concurrent use.
type requestCounts struct {
	mu     sync.RWMutex
	counts map[requestLabels]*atomic.Int64
}

// requestLabels tell requests apart, as upstream's metric does.
type requestLabels struct {
	verb, dryRun, group, version, resource, subresource, scope, component string

	code int
}

// add counts a request.
func (c *requestCounts) add(labels requestLabels) {
	c.mu.RLock()
	count := c.counts[labels]
	c.mu.RUnlock()
	if count == nil {
		if count = c.begin(labels); count == nil {
			return
		}
	}
	count.Add(1)
}

// begin begins to count requests with the labels; nil: there are too many different ones.
func (c *requestCounts) begin(labels requestLabels) *atomic.Int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := c.counts[labels]
	if count == nil && len(c.counts) < maxCounted {
		if c.counts == nil {
			c.counts = map[requestLabels]*atomic.Int64{}
		}
		count = &atomic.Int64{}
		c.counts[labels] = count
	}
	return count
}

// reset forgets all requests.
func (c *requestCounts) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts = nil
}

// family is the metric.
func (c *requestCounts) family() *dto.MetricFamily {
	help := "[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code."
	f := &dto.MetricFamily{Name: new(requestTotal), Help: &help, Type: dto.MetricType_COUNTER.Enum()}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for labels, count := range c.counts {
		f.Metric = append(f.Metric, labels.metric(count.Load()))
	}
	slices.SortFunc(f.Metric, func(a, b *dto.Metric) int {
		return slices.CompareFunc(a.Label, b.Label, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetValue(), b.GetValue()) })
	})
	return f
}

// metric is the count of the requests with the labels.
func (l requestLabels) metric(count int64) *dto.Metric {
	m := &dto.Metric{Counter: &dto.Counter{Value: new(float64(count))}}
	for _, pair := range [][2]string{
		{"code", strconv.Itoa(l.code)}, {"component", l.component}, {"dry_run", l.dryRun}, {"group", l.group}, {"resource", l.resource},
		{"scope", l.scope}, {"subresource", l.subresource}, {"verb", l.verb}, {"version", l.version},
	} {
		m.Label = append(m.Label, &dto.LabelPair{Name: &pair[0], Value: &pair[1]})
	}
	return m
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

// metricVerb is the verb of a request in the words of the metric.
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

// health answers a request that asks whether the server is up, and counts it, unless it asks for a
// single check.
func (c *requestCounts) health(w http.ResponseWriter, req *http.Request) {
	if isHealthRoot(req.URL.Path) && req.Method == http.MethodGet {
		c.add(requestLabels{verb: http.MethodGet, subresource: req.URL.Path, code: http.StatusOK}) // all checks pass
	}
	health().ServeHTTP(w, req)
}

// counted is an answer that is counted as soon as its code is known: before the client can know
// it. A watch is counted when it begins.
type counted struct {
	http.ResponseWriter
	of   *request
	by   *requestCounts
	done bool
}

// Unwrap is for http.ResponseController.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (c *counted) WriteHeader(code int) {
	if !c.done && c.of.version != nil {
		c.by.add(labelsOf(c.of, code))
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

// serveMetrics answers with what upstream's code has measured in the process, which all its clusters
// share, and the requests to this server. A DELETE sets them to zero.
func (c *requestCounts) serveMetrics(w http.ResponseWriter, req *http.Request) {
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
	own := c.family()
	families = slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == requestTotal })
	if len(own.Metric) > 0 {
		families = append(families, own)
	}
	slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return families, err
}

// gather is a function that is a metrics.Gatherer.
type gather func() ([]*dto.MetricFamily, error)

// Gather implements metrics.Gatherer.
func (g gather) Gather() ([]*dto.MetricFamily, error) { return g() }
