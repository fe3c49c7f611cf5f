package rest_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/tidwall/gjson"

	"github.com/fakecluster/fakecluster/store"
)

const flowPath = "/apis/flowcontrol.apiserver.k8s.io/v1/"

// flowNames returns the names of FlowSchemas and PriorityLevelConfigurations by their uids.
func flowNames(c *cluster) map[string]string {
	names := map[string]string{}
	for _, kind := range []string{"flowschemas", "prioritylevelconfigurations"} {
		for _, item := range gjson.Get(c.must("GET", flowPath+kind, ""), "items").Array() {
			names[item.Get("metadata.uid").Str] = item.Get("metadata.name").Str
		}
	}
	return names
}

// matched returns the names of the FlowSchema and of the level in the headers of an answer.
func matched(names map[string]string, h http.Header) string {
	var got []string
	for _, header := range []string{"X-Kubernetes-PF-FlowSchema-UID", "X-Kubernetes-PF-PriorityLevel-UID"} {
		for _, uid := range h.Values(header) {
			got = append(got, names[uid])
		}
	}
	return strings.Join(got, " at ")
}

// The headers name what a request matches, whatever its answer is, once its user is authenticated. Only long-running
// requests that are not watches have none.
func TestAnswersNameTheirFlowSchema(t *testing.T) {
	c := start(t)
	names := flowNames(c)
	system := http.Header{"Impersonate-User": {"system:serviceaccount:kube-system:x"}, "Impersonate-Group": {"system:serviceaccounts", "system:authenticated"}}
	maps.Copy(system, jsonBody)
	node := http.Header{"Impersonate-User": {"system:node:a"}, "Impersonate-Group": {"system:nodes", "system:authenticated"}}
	nobody := http.Header{"Authorization": {"None"}}
	for _, one := range []struct {
		rule, method, path string
		header             http.Header
		code               int
		want               string
	}{
		{"an administrator", "GET", "/api/v1/namespaces", nil, 200, "exempt at exempt"},
		{"an object that is not there", "GET", "/api/v1/namespaces/none", nil, 404, "exempt at exempt"},
		{"a path that is not there", "GET", "/none", nil, 404, "exempt at exempt"},
		{"discovery", "GET", "/apis", nil, 200, "exempt at exempt"},
		{"what a user may not do", "GET", "/api/v1/secrets", node, 403, "system-nodes at system"},
		{"a Lease of a node", "GET", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a", node, 403, "system-node-high at node-high"},
		{"an account of the system", "POST", "/api/v1/namespaces/default/configmaps", system, 403, "kube-system-service-accounts at workload-high"},
		{"a probe", "GET", "/readyz", node, 200, "probes at exempt"},
		{"a probe of a user who is not authenticated", "GET", "/readyz", nobody, 200, "probes at exempt"},
		{"another request of such a user", "GET", "/api/v1/namespaces", nobody, 401, ""},
		{"an impersonation that is refused", "GET", "/api/v1/namespaces", http.Header{"Authorization": {"Bearer " + c.server.Users.TokenFor("jane")}, "Impersonate-User": {"joe"}}, 403, ""},
		{"a watch", "GET", "/api/v1/configmaps?watch=1", nil, 200, "exempt at exempt"},
		{"logs", "GET", "/api/v1/namespaces/default/pods/none/log", nil, 404, ""},
		{"a timeout that cannot be read", "GET", "/api/v1/namespaces?timeout=x", nil, 400, ""},
	} {
		res := c.open(one.method, one.path, one.header, "")
		res.Body.Close()
		expect(t, one.rule+": the code", res.StatusCode, one.code)
		expect(t, one.rule, matched(names, res.Header), one.want)
	}
}

// A FlowSchema is in force when its write returns, and so is its end. A fork has its own.
func TestFlowSchemasAreInForceAtOnce(t *testing.T) {
	c := start(t)
	jane := func(in *cluster) answer { // who may do nothing
		return in.serve("GET", "/api/v1/nodes", http.Header{"Impersonate-User": {"jane"}, "Impersonate-Group": {"system:authenticated"}}, nil)
	}
	before := flowNames(c)
	expect(t, "before", matched(before, jane(c).header), "global-default at global-default")
	c.must("POST", flowPath+"prioritylevelconfigurations", `{"metadata":{"name":"mine"},"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":5,"limitResponse":{"type":"Reject"}}}}`)
	c.must("POST", flowPath+"flowschemas", `{"metadata":{"name":"jane"},"spec":{"matchingPrecedence":50,"priorityLevelConfiguration":{"name":"mine"},
		"rules":[{"subjects":[{"kind":"User","user":{"name":"jane"}}],"resourceRules":[{"verbs":["list"],"apiGroups":[""],"resources":["nodes"],"clusterScope":true}]}]}}`)
	names := flowNames(c)
	expect(t, "with a schema of hers", matched(names, jane(c).header), "jane at mine")
	fork := c.fork(t)
	c.must("DELETE", flowPath+"prioritylevelconfigurations/mine", "")
	expect(t, "without its level", matched(names, jane(c).header), "global-default at global-default")
	expect(t, "in the fork", matched(names, jane(fork).header), "jane at mine")
}

// flowLines are the lines of the metrics of flow control that begin with a name.
func flowLines(c *cluster, name string) []string {
	var lines []string
	for line := range strings.Lines(c.must("GET", "/metrics", "")) {
		if rest, ok := strings.CutPrefix(line, "apiserver_flowcontrol_"+name); ok {
			lines = append(lines, strings.TrimSuffix(rest, "\n"))
		}
	}
	return lines
}

func TestMetricsOfFlowControl(t *testing.T) {
	c := start(t, func(o *options, _ *store.Options) { o.FlowControl.Seats = 100 })
	list := c.open("GET", "/api/v1/configmaps?watch=1", http.Header{"Impersonate-User": {"system:node:a"}, "Impersonate-Group": {"system:masters"}}, "")
	defer list.Body.Close()
	c.do("GET", "/api/v1/nodes", http.Header{"Impersonate-User": {"jane"}, "Impersonate-Group": {"system:authenticated"}}, "")
	expect(t, "dispatched", flowLines(c, "dispatched_requests_total"), []string{
		`{flow_schema="exempt",priority_level="exempt"} 2`, `{flow_schema="global-default",priority_level="global-default"} 1`})
	expect(t, "executing, of which the watch is none", flowLines(c, "current_executing_requests"), []string{
		`{flow_schema="exempt",priority_level="exempt"} 1`, `{flow_schema="global-default",priority_level="global-default"} 0`})
	expect(t, "executed", flowLines(c, "request_execution_seconds_count"), []string{
		`{flow_schema="exempt",priority_level="exempt",type="regular"} 2`, `{flow_schema="exempt",priority_level="exempt",type="watch"} 1`,
		`{flow_schema="global-default",priority_level="global-default",type="regular"} 1`})
	expect(t, "those with limits have waited for nothing", flowLines(c, "request_wait_duration_seconds_sum"), []string{
		`{execute="true",flow_schema="global-default",priority_level="global-default"} 0`})
	// As of a real server with --max-requests-inflight=50 and --max-mutating-requests-inflight=50.
	expect(t, "nominal", flowLines(c, "nominal_limit_seats"), []string{
		`{priority_level="catch-all"} 3`, `{priority_level="exempt"} 0`, `{priority_level="global-default"} 9`, `{priority_level="leader-election"} 5`,
		`{priority_level="node-high"} 17`, `{priority_level="system"} 13`, `{priority_level="workload-high"} 17`, `{priority_level="workload-low"} 41`})
	expect(t, "lower", flowLines(c, "lower_limit_seats"), []string{
		`{priority_level="catch-all"} 3`, `{priority_level="exempt"} 0`, `{priority_level="global-default"} 4`, `{priority_level="leader-election"} 5`,
		`{priority_level="node-high"} 13`, `{priority_level="system"} 9`, `{priority_level="workload-high"} 8`, `{priority_level="workload-low"} 4`})
	expect(t, "upper", slices.Compact(flowLines(c, "upper_limit_seats"))[:2], []string{`{priority_level="catch-all"} 103`, `{priority_level="exempt"} 100`})
	c.must("DELETE", "/metrics", "")
	expect(t, "after a DELETE", flowLines(c, "dispatched_requests_total"), []string{`{flow_schema="exempt",priority_level="exempt"} 1`})
}

func TestWithoutFlowControl(t *testing.T) {
	c := start(t, func(o *options, _ *store.Options) { o.FlowControl.Off = true })
	for _, path := range []string{"/api/v1/namespaces", "/readyz"} {
		expect(t, path, matched(flowNames(c), c.do("GET", path, nil, "").header), "")
	}
	expect(t, "metrics", flowLines(c, ""), []string(nil))
}

// In protobuf, durations have native buckets beside the classic ones, as those of a real server.
func TestDurationsHaveNativeBuckets(t *testing.T) {
	c := start(t)
	c.must("GET", "/api/v1/namespaces/default", "")
	a := c.do("GET", "/metrics", http.Header{"Accept": {"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"}}, "")
	expect(t, "code", a.code, 200)
	families := map[string]*dto.MetricFamily{}
	for from := expfmt.NewDecoder(bytes.NewReader([]byte(a.body)), expfmt.NewFormat(expfmt.TypeProtoDelim)); ; {
		var f dto.MetricFamily
		if err := from.Decode(&f); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		families[f.GetName()] = &f
	}
	for name, want := range map[string]string{
		"apiserver_request_duration_seconds":              "component=apiserver dry_run= group= resource=namespaces scope=resource subresource= verb=GET version=v1",
		"apiserver_flowcontrol_request_execution_seconds": "flow_schema=exempt priority_level=exempt type=regular",
	} {
		f := families[name]
		if f.GetType() != dto.MetricType_HISTOGRAM || len(f.GetMetric()) != 1 {
			t.Fatalf("%s: %v", name, f)
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		expect(t, "labels of "+name, strings.Join(labels, " "), want)
		h := f.GetMetric()[0].GetHistogram()
		if h.GetSampleCount() != 1 || len(h.GetBucket()) == 0 || h.GetSchema() != 3 || len(h.GetPositiveSpan()) == 0 {
			t.Errorf("%s: %v", name, h)
		}
	}
}
