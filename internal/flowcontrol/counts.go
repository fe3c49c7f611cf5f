package flowcontrol

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// maxCounted is the maximum number of pairs of a priority level and a FlowSchema in the metrics. Only a test that
// creates and deletes FlowSchemas without end has more; these are not counted.
const maxCounted = 1000

// counts has the counts of all requests to a cluster.
type counts struct {
	mu    sync.Mutex
	byKey map[[2]string]*counted // by level and FlowSchema
}

// counted has the counts of the requests of a FlowSchema at a priority level.
type counted struct {
	dispatched, executing atomic.Int64
	regular, watch        *Histogram // how long the execution takes, in seconds
	waited                *Histogram // waiting times at a level with limits, all of them 0
}

// seconds are the upper bounds of the classic buckets of durations.
var seconds = []float64{0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30}

// countedFor returns the counts of a FlowSchema at a level.
func (c *counts) countedFor(level, schema string) *counted {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := [2]string{level, schema}
	found := c.byKey[key]
	if found == nil {
		found = &counted{regular: NewHistogram(seconds), watch: NewHistogram(seconds), waited: NewHistogram(seconds)}
		if c.byKey == nil {
			c.byKey = map[[2]string]*counted{}
		}
		if len(c.byKey) < maxCounted {
			c.byKey[key] = found
		}
	}
	return found
}

// Request is a request in execution.
type Request struct {
	schema *Schema
	began  time.Time
	watch  bool
	ended  bool
}

// Begin begins the execution of a request, now.
func (s *Schema) Begin(watch bool, now time.Time) Request {
	s.counts.dispatched.Add(1)
	s.counts.executing.Add(1)
	if !s.exempt {
		s.counts.waited.Observe(0)
	}
	return Request{schema: s, began: now, watch: watch}
}

// End ends the execution, which for a watch is when it has begun. Further calls do nothing, nor do calls for the zero
// value.
func (r *Request) End() {
	if r.schema == nil || r.ended {
		return
	}
	r.ended = true
	sum := r.schema.counts
	sum.executing.Add(-1)
	durations := sum.regular
	if r.watch {
		durations = sum.watch
	}
	durations.Observe(time.Since(r.began).Seconds())
}

// Reset sets all counts to zero, except those of requests in execution.
func (s *Schemas) Reset() {
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	for _, sum := range s.counts.byKey {
		sum.dispatched.Store(0)
		for _, h := range []*Histogram{sum.regular, sum.watch, sum.waited} {
			h.Reset()
		}
	}
}

// Families returns the metrics, with upstream's names and help texts. seats is the number of requests that a real server
// would serve concurrently; the levels share them by their specs.
func (s *Schemas) Families(seats int) ([]*dto.MetricFamily, error) {
	now, err := s.load()
	if err != nil {
		return nil, err
	}
	var dispatched, executing, durations, waited []*dto.Metric
	s.counts.mu.Lock()
	for key, sum := range s.counts.byKey {
		n := sum.dispatched.Load()
		if n == 0 {
			continue
		}
		schema, level := Label("flow_schema", key[1]), Label("priority_level", key[0])
		dispatched = append(dispatched, &dto.Metric{Label: []*dto.LabelPair{schema, level}, Counter: &dto.Counter{Value: new(float64(n))}})
		executing = append(executing, gauge(float64(sum.executing.Load()), schema, level))
		durations = append(durations,
			sum.regular.Metric(schema, level, Label("type", "regular")), sum.watch.Metric(schema, level, Label("type", "watch")))
		waited = append(waited, sum.waited.Metric(Label("execute", "true"), schema, level))
	}
	s.counts.mu.Unlock()
	const prefix = "apiserver_flowcontrol_"
	families := append(now.limits(prefix, seats),
		Family(prefix+"dispatched_requests_total", "[BETA] Number of requests executed by API Priority and Fairness subsystem", dto.MetricType_COUNTER, dispatched...),
		Family(prefix+"current_executing_requests", "[BETA] Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution stage in the API Priority and Fairness subsystem",
			dto.MetricType_GAUGE, executing...),
		Family(prefix+"request_execution_seconds", "[ALPHA] Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of request execution in the API Priority and Fairness subsystem",
			dto.MetricType_HISTOGRAM, durations...),
		Family(prefix+"request_wait_duration_seconds", "[BETA] Length of time a request spent waiting in its queue", dto.MetricType_HISTOGRAM, waited...))
	return families, nil
}

// limits returns the seat limits of each priority level: the nominal limit, from its shares; the lower limit, when it
// lends all seats that it may; and the upper limit, when it borrows all that it may.
func (i *index) limits(prefix string, seats int) []*dto.MetricFamily {
	var sum float64
	for _, l := range i.levels {
		shares, _, _ := l.shares()
		sum += shares
	}
	var nominal, lower, upper []*dto.Metric
	for name, l := range i.levels {
		shares, lendable, borrowing := l.shares()
		has := math.Ceil(float64(seats) * shares / sum)
		borrows := float64(seats)
		if borrowing != nil {
			borrows = math.Round(has * float64(*borrowing) / 100)
		}
		label := Label("priority_level", name)
		nominal, upper = append(nominal, gauge(has, label)), append(upper, gauge(has+borrows, label))
		lower = append(lower, gauge(has-math.Round(has*lendable/100), label))
	}
	return []*dto.MetricFamily{
		Family(prefix+"nominal_limit_seats", "[BETA] Nominal number of execution seats configured for each priority level", dto.MetricType_GAUGE, nominal...),
		Family(prefix+"lower_limit_seats", "[ALPHA] Configured lower bound on number of execution seats available to each priority level", dto.MetricType_GAUGE, lower...),
		Family(prefix+"upper_limit_seats", "[ALPHA] Configured upper bound on number of execution seats available to each priority level", dto.MetricType_GAUGE, upper...),
	}
}

// shares returns the concurrency shares of a level, the percentage that it may lend and, if limited, the percentage that
// it may borrow.
func (l level) shares() (shares, lendable float64, borrowing *int32) {
	number := func(n *int32) float64 {
		if n == nil {
			return 0
		}
		return float64(*n)
	}
	if limited := l.spec.Limited; limited != nil {
		return number(limited.NominalConcurrencyShares), number(limited.LendablePercent), limited.BorrowingLimitPercent
	}
	if exempt := l.spec.Exempt; exempt != nil {
		return number(exempt.NominalConcurrencyShares), number(exempt.LendablePercent), nil
	}
	return 0, 0, nil
}

func gauge(value float64, labels ...*dto.LabelPair) *dto.Metric {
	return &dto.Metric{Label: labels, Gauge: &dto.Gauge{Value: &value}}
}
