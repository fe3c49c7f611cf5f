package fakecluster

import (
	"maps"
	"slices"
	"testing"

	"github.com/fakecluster/fakecluster/inspect"
)

// Stats returns the counts of all requests since Start, New or Fork returned, including those that
// [Cluster.Requests] no longer has.
func (c *Cluster) Stats() inspect.Stats { return c.server.History.Stats() }

// ReportMetrics reports what one operation of a benchmark has cost, for go test -bench and benchstat:
// requests/op, and those of them by each verb, such as update-requests/op; conflicts/op, revisions/op,
// events/op, received-B/op and sent-B/op. It counts all requests since [Cluster.ResetStats], or since the
// cluster began, including those of the cluster's own controllers. Call it after the loop.
func (c *Cluster) ReportMetrics(b *testing.B) {
	b.Helper()
	n := float64(max(b.N, 1))
	stats := c.Stats()
	total := stats.Total(nil)
	verbs := map[string]int64{}
	for counted, counts := range stats {
		verbs[counted.Verb] += counts.Requests
	}
	b.ReportMetric(float64(total.Requests)/n, "requests/op")
	for _, verb := range slices.Sorted(maps.Keys(verbs)) {
		b.ReportMetric(float64(verbs[verb])/n, verb+"-requests/op")
	}
	for unit, count := range map[string]int64{
		"conflicts/op": total.Conflicts, "revisions/op": total.Revisions, "events/op": total.Events,
		"received-B/op": total.Received, "sent-B/op": total.Sent,
	} {
		b.ReportMetric(float64(count)/n, unit)
	}
}

// ResetStats sets all counts to zero, for a benchmark that has prepared the cluster. It also
// empties Cluster.Requests; Cluster.History still has the writers of all revisions. Requests in
// flight, such as watches, stay: each counts as one request, with the events and bytes from now on.
// New requests continue the numbering.
func (c *Cluster) ResetStats() { c.server.History.Forget() }
