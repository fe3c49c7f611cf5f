package player

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/internal/description"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// oneScenario reads a scenario from the steps of it.
func oneScenario(t *testing.T, steps string) *syntax.Scenario {
	t.Helper()
	f := syntax.Parse("f.yaml", []byte("scenario: s\nsteps:\n"+steps))
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	return f.Scenarios[0]
}

// What each step sends: method, path, and the resourceVersion in the body.
func TestRequests(t *testing.T) {
	const made = "- create: {apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}\n  as: made\n"
	const created = "POST /apis/example.com/v1/namespaces/default/widgets"
	const object = "/apis/example.com/v1/namespaces/default/widgets/a"
	tests := []struct {
		rule, steps string
		want        []string
	}{
		{"a namespaced object without a namespace goes to default",
			made, []string{created}},
		{"one with a namespace goes there",
			"- create: {apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: ns}}\n",
			[]string{"POST /apis/example.com/v1/namespaces/ns/widgets"}},
		{"a cluster-scoped object is in none, whatever its manifest says",
			"- create: {apiVersion: v1, kind: Node, metadata: {name: a, namespace: ns}}\n",
			[]string{"POST /api/v1/nodes"}},
		{"a get is of default too",
			made + "- get: {apiVersion: example.com/v1, kind: Widget, name: a}\n",
			[]string{created, "GET " + object}},
		{"a list without a namespace is of all",
			"- list: {apiVersion: example.com/v1, kind: Widget}\n",
			[]string{"GET /apis/example.com/v1/widgets"}},
		{"a list with one is of that",
			"- list: {apiVersion: example.com/v1, kind: Widget, namespace: ns}\n",
			[]string{"GET /apis/example.com/v1/namespaces/ns/widgets"}},
		{"a path is sent as it is, with its query",
			"- get: {path: '/api/v1/nodes?limit=1&continue=a%2Fb'}\n",
			[]string{"GET /api/v1/nodes?limit=1&continue=a%2Fb"}},
		{"a name is one segment of the path",
			"- get: {apiVersion: v1, kind: Node, name: 'a/b?c'}\n  error: {code: 404}\n",
			[]string{"GET /api/v1/nodes/a%2Fb%3Fc"}},
		{"an update sends the current resourceVersion",
			made + "- update: {apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}\n",
			[]string{created, "GET " + object, "PUT " + object + " 1"}},
		{"an update of what is not there sends none",
			"- update: {apiVersion: v1, kind: Node, metadata: {name: none}}\n  error: {code: 404}\n",
			[]string{"GET /api/v1/nodes/none", "PUT /api/v1/nodes/none"}},
		{"an update sends the resourceVersion it says",
			made + "- update: {apiVersion: example.com/v1, kind: Widget, metadata: {name: a, resourceVersion: \"7\"}}\n",
			[]string{created, "PUT " + object + " 7"}},
		{"an update sends none if it says so",
			made + "- update: {apiVersion: example.com/v1, kind: Widget, metadata: {name: a, resourceVersion: !absent }}\n",
			[]string{created, "PUT " + object}},
		{"an update sends that of an earlier answer",
			made + "- update: {apiVersion: example.com/v1, kind: Widget, metadata: {name: a, resourceVersion: !from made.metadata.resourceVersion}}\n",
			[]string{created, "PUT " + object + " 1"}},
		{"an answer names the object of a later step",
			made + "- delete: {apiVersion: example.com/v1, kind: Widget, name: !from made.metadata.name}\n",
			[]string{created, "DELETE " + object}},
		{"an answer's list is counted from 0",
			"- list: {apiVersion: v1, kind: Node}\n  as: all\n- get: {path: !from all.items.0}\n",
			[]string{"GET /api/v1/nodes", "GET /api/v1/nodes"}},
		{"a kind that is no longer served is read at its path",
			"- list: {apiVersion: example.com/v1, kind: Widget}\n- get: {path: /apis}\n" +
				"- list: {apiVersion: example.com/v1, kind: Widget}\n  error: {code: 404, body: \"404 page not found\\n\"}\n",
			[]string{"GET /apis/example.com/v1/widgets", "GET /apis/example.com/v1", "GET /apis/example.com/v1/widgets"}},
		{"a subresource is below its object",
			made + "- get: {apiVersion: example.com/v1, kind: Widget, name: a}\n  subresource: status\n  error: {code: 404}\n",
			[]string{created, "GET " + object + "/status"}},
		{"an update of a subresource sends the version that it has there",
			made + "- update: {apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}\n  subresource: status\n  error: {code: 404}\n",
			[]string{created, "GET " + object + "/status", "PUT " + object + "/status"}},
		{"options are the query",
			"- list: {apiVersion: v1, kind: Node}\n  options: {limit: 2, labelSelector: 'a=b,c', allowWatchBookmarks: true, continue: !absent }\n",
			[]string{"GET /api/v1/nodes?allowWatchBookmarks=true&labelSelector=a%3Db%2Cc&limit=2"}},
		{"an option may be a list",
			"- create: {apiVersion: v1, kind: Node, metadata: {name: a}}\n  options: {dryRun: [All, None]}\n",
			[]string{"POST /api/v1/nodes?dryRun=All&dryRun=None"}},
		{"an option may be of an earlier answer, and beside the query of a path",
			made + "- get: {path: '/api/v1/nodes?limit=1'}\n  options: {resourceVersion: !from made.metadata.resourceVersion}\n",
			[]string{created, "GET /api/v1/nodes?limit=1&resourceVersion=1"}},
		{"a patch has the media type of its type",
			made + "- patch: {apiVersion: example.com/v1, kind: Widget, name: a}\n  type: json\n  body: [{op: remove, path: !from made.metadata.name}]\n" +
				"- patch: {path: " + object + "}\n  type: merge\n  body: {spec: null, gone: !absent }\n" +
				"- patch: {path: " + object + "}\n  type: strategic\n  body: ' {'\n",
			[]string{created,
				"PATCH " + object + ` application/json-patch+json [{"op":"remove","path":"a"}]`,
				"PATCH " + object + ` application/merge-patch+json {"spec":null}`,
				"PATCH " + object + ` application/strategic-merge-patch+json  {`}},
		{"an apply has a manager",
			"- apply: {apiVersion: v1, kind: Node, metadata: {name: a}}\n" +
				"- apply: {apiVersion: v1, kind: Node, metadata: {name: a}}\n  options: {fieldManager: me, force: true}\n" +
				"- apply: {apiVersion: v1, kind: Node, metadata: {name: a}}\n  options: {fieldManager: !absent }\n",
			[]string{
				`PATCH /api/v1/nodes/a?fieldManager=scenario application/apply-patch+yaml {"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}`,
				`PATCH /api/v1/nodes/a?fieldManager=me&force=true application/apply-patch+yaml {"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}`,
				`PATCH /api/v1/nodes/a application/apply-patch+yaml {"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}`}},
		{"a delete may have a body",
			made + "- delete: {apiVersion: example.com/v1, kind: Widget, name: a}\n  body: {propagationPolicy: Orphan}\n",
			[]string{created, "DELETE " + object + ` application/json {"propagationPolicy":"Orphan"}`}},
		{"a collection is deleted in one request",
			"- deletecollection: {apiVersion: example.com/v1, kind: Widget, namespace: ns}\n  options: {labelSelector: a}\n",
			[]string{"DELETE /apis/example.com/v1/namespaces/ns/widgets?labelSelector=a"}},
		{"a manifest goes where it is sent",
			"- create: {apiVersion: v1, kind: Node, metadata: {name: a}}\n  to: {path: /apis/example.com/v1/namespaces/ns/widgets}\n" +
				"- apply: {apiVersion: autoscaling/v1, kind: Scale, metadata: {name: b}}\n  to: {apiVersion: v1, kind: Node, name: c}\n  subresource: scale\n  body: text\n  error: {code: 404}\n",
			[]string{"POST /apis/example.com/v1/namespaces/ns/widgets",
				"PATCH /api/v1/nodes/c/scale?fieldManager=scenario application/apply-patch+yaml text"}},
		{"headers are sent as they are given",
			"- create: {apiVersion: v1, kind: Node, metadata: {name: a}}\n  headers: {Content-Type: application/yaml, X-Agent: me}\n  body: 'kind: Node'\n  error: {code: 400}\n",
			[]string{"POST /api/v1/nodes application/yaml kind: Node by me"}},
		{"a watch reads as many events as are expected",
			"- watch: {apiVersion: v1, kind: Node}\n  options: {resourceVersion: '7'}\n  expect: [{type: ADDED}]\n",
			[]string{"GET /api/v1/nodes?resourceVersion=7&timeoutSeconds=5&watch=true"}},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			stub := newStub()
			result := Play(t.Context(), oneScenario(t, test.steps), stub.start)
			if result.Failure != nil {
				t.Error(result.Failure)
			}
			if d := cmp.Diff(test.want, stub.requests); d != "" {
				t.Errorf("requests (-want +got):\n%s", d)
			}
			if !stub.closed {
				t.Error("the cluster was not closed")
			}
		})
	}
}

func TestFailuresOfTheCluster(t *testing.T) {
	s := oneScenario(t, "- get: {path: /healthz}\n")
	broken := newStub()
	broken.closeErr = errors.New("a watch is stuck")
	ended, end := context.WithCancelCause(t.Context())
	end(errors.New("interrupt"))
	ending, endNow := context.WithCancelCause(t.Context())
	tests := []struct {
		rule  string
		ctx   context.Context
		start Starter
		want  string
	}{
		{"a cluster that does not start", t.Context(),
			func(ClusterOptions) (Backend, error) { return nil, errors.New("no memory") },
			"f.yaml:1: starting the cluster: no memory"},
		{"a cluster that does not close", t.Context(), broken.start,
			"f.yaml:1: closing the cluster: a watch is stuck"},
		{"an interrupt before the start", ended, newStub().start,
			"f.yaml:1: not played: interrupt"},
		{"an interrupt at a step", ending,
			func(ClusterOptions) (Backend, error) { endNow(errors.New("interrupt")); return newStub(), nil },
			"f.yaml:3: step 1: get /healthz: interrupted: interrupt"},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			result := Play(test.ctx, s, test.start)
			if result.Failure == nil || result.Failure.String() != test.want {
				t.Errorf("failure %v, want %s", result.Failure, test.want)
			}
		})
	}
}

// The failure of a step with an invalid value from an earlier answer names the field.
func TestFailuresOfReferences(t *testing.T) {
	const list = "- list: {apiVersion: v1, kind: Node}\n  as: all\n"
	tests := []struct{ rule, steps, want string }{
		{"a name is a text", "- get: {apiVersion: v1, kind: Node, name: !from all.items }\n",
			"f.yaml:5: step 2: get Node: name must be a string, not a list"},
		{"a namespace is one, too", "- list: {apiVersion: v1, kind: Node, namespace: !cel '1' }\n",
			"f.yaml:5: step 2: list Node: namespace must be a string, not a number"},
		{"so is a path", "- get: {path: !from all }\n",
			"f.yaml:5: step 2: get: path must be a string, not a mapping"},
		{"a field that is not there may have another name", "- get: {path: !from all.itms.0 }\n",
			`f.yaml:5: step 2: get: f.yaml:5: !from all.itms.0: the answer does not have "itms" there; did you mean "items"?`},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			result := Play(t.Context(), oneScenario(t, list+test.steps), newStub().start)
			if result.Failure == nil || result.Failure.String() != test.want {
				t.Errorf("failure %v, want %s", result.Failure, test.want)
			}
		})
	}
}

func TestTheClusterHasTheOptionsOfTheScenario(t *testing.T) {
	const text = "scenario: s\ncluster: {%s}\nsteps:\n- get: {path: /healthz}\n"
	for _, tt := range []struct {
		cluster string
		want    description.Cluster
	}{
		{"", description.Cluster{}},
		{"withoutNamespaceLifecycle: true", description.Cluster{WithoutNamespaceLifecycle: true}},
		{"legacyAPIs: true, withoutNamespaceLifecycle: false", description.Cluster{LegacyAPIs: true}},
		{"withoutNamespaceLifecycle: true, legacyAPIs: true", description.Cluster{WithoutNamespaceLifecycle: true, LegacyAPIs: true}},
		{"controllers: []", description.Cluster{Controllers: []string{}}},
		{"controllers: [namespace-controller, garbage-collector-controller]", description.Cluster{Controllers: []string{"namespace-controller", "garbage-collector-controller"}}},
		{"runtimeConfig: [api/all=true]", description.Cluster{RuntimeConfig: []string{"api/all=true"}}},
		{"withAdmissionPlugins: [AlwaysDeny], withoutAdmissionPlugins: [LimitRanger, Priority]", description.Cluster{WithAdmissionPlugins: []string{"AlwaysDeny"}, WithoutAdmissionPlugins: []string{"LimitRanger", "Priority"}}},
	} {
		f := syntax.Parse("f.yaml", fmt.Appendf(nil, text, tt.cluster))
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
		var got description.Cluster
		Play(t.Context(), f.Scenarios[0], func(options ClusterOptions) (Backend, error) {
			got = options.Cluster
			return newStub(), nil
		})
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.cluster, d)
		}
	}
}

// PlayAll reports in order, though the first scenario ends last.
func TestResultsAreReportedInOrder(t *testing.T) {
	const n = 20
	var loaded []*syntax.Scenario
	for range n {
		loaded = append(loaded, oneScenario(t, "- get: {path: /healthz}\n"))
	}
	var started atomic.Int32
	others := make(chan struct{})
	start := func(ClusterOptions) (Backend, error) {
		switch started.Add(1) {
		case 1:
			<-others
		case 2:
			close(others)
		}
		return newStub(), nil
	}
	if runtime.GOMAXPROCS(0) == 1 {
		close(others) // only the first scenario is playing, so the order is certain
		started.Store(2)
	}
	var reported []*syntax.Scenario
	Player{Start: start}.PlayAll(t.Context(), loaded, func(r Result) { reported = append(reported, r.Scenario) })
	if d := cmp.Diff(loaded, reported, cmp.Comparer(func(a, b *syntax.Scenario) bool { return a == b })); d != "" {
		t.Errorf("reported (-want +got):\n%s", d)
	}
	Player{Start: start}.PlayAll(t.Context(), nil, func(Result) { t.Error("a result of nothing") })
}
