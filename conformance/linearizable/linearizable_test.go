package linearizable

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

const manifest = `
metadata: {name: registers.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: registers, singular: register, kind: Register, listKind: RegisterList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {a: {type: integer}, b: {type: integer}, c: {type: integer}}}
`

const path = "/apis/example.com/v1/namespaces/default/registers/"

func TestConcurrentWritesAreLinearizable(t *testing.T) {
	for _, c := range []struct {
		name                         string
		clients, operations, objects int
		options                      []fakecluster.Option
		injected                     bool
	}{
		{"50 objects in process", 8, 10_000, 50, []fakecluster.Option{fakecluster.InProcess()}, false},
		{"50 objects over HTTP", 8, 10_000, 50, nil, false},
		{"50 objects over HTTP, with faults", 8, 5_000, 50, nil, true},
		{"2 objects in process", 8, 2_000, 2, []fakecluster.Option{fakecluster.InProcess()}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			seed := seedtest.Seed(t)
			cluster := start(t, append(c.options, fakecluster.WithSeed(seed))...)
			var injected []faults.Injection
			if c.injected {
				injected = inject(cluster)
			}
			history := record(t, cluster, seed, c.injected, c.clients, c.operations, c.objects)
			checkVariety(t, history)
			for _, f := range injected {
				if f.Fired() == 0 {
					t.Errorf("never: %v", f.Fault())
				}
			}
			const limit = 5 * time.Minute // between failing and hanging
			result, info := porcupine.CheckOperationsVerbose(model(), history, limit)
			if result != porcupine.Ok {
				file := t.ArtifactDir() + "/history.html"
				err := porcupine.VisualizePath(model(), info, file)
				t.Errorf("the history is not linearizable: %s; see %s (%v)\n%s", result, file, err, describe(shortest(history)))
			}
			if wrong := disordered(history); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

// The scheduler decides how the clients meet, so that a history cannot be played again, and nothing can be left out of one
// that has been: a read has to have its write. But its end can. shortest returns the shortest beginning of the
// operations on one object that is not linearizable, empty if there is none.
func shortest(history []porcupine.Operation) []porcupine.Operation {
	for _, operations := range byObject(history) {
		if porcupine.CheckOperations(model(), operations) {
			continue
		}
		var ends []int64
		for _, o := range operations {
			ends = append(ends, o.Return)
		}
		slices.Sort(ends)
		// If a beginning is not linearizable, a longer one is not either.
		n, _ := slices.BinarySearchFunc(ends, 0, func(end int64, _ int) int {
			if porcupine.CheckOperations(model(), until(operations, end)) {
				return -1
			}
			return 1
		})
		return until(operations, ends[min(n, len(ends)-1)])
	}
	return nil
}

// until returns a history up to a time. A write without an answer by then may have been made, or may be made later.
func until(history []porcupine.Operation, end int64) (before []porcupine.Operation) {
	for _, o := range history {
		switch {
		case o.Return <= end:
			before = append(before, o)
		case o.Call <= end && o.Input.(call).verb != "get":
			o.Output, o.Return = answer{code: cut}, math.MaxInt64
			before = append(before, o)
		}
	}
	slices.SortFunc(before, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return before
}

// describe prints operations in the order of their calls.
func describe(history []porcupine.Operation) string {
	text := fmt.Sprintf("the shortest history that is not, %d operations:", len(history))
	for _, o := range history {
		text += fmt.Sprintf("\n  client %d, %d to %d: %+v: %+v", o.ClientId, o.Call, o.Return, o.Input, o.Output)
	}
	return text
}

// A violation is shown with what led to it, and with nothing that came later or happened elsewhere.
func TestTheShortestHistoryEndsWithTheViolation(t *testing.T) {
	var history []porcupine.Operation
	clock := int64(0)
	add := func(object, verb string, fields fields, a answer) {
		clock += 2
		history = append(history, porcupine.Operation{ClientId: int(clock) % 3, Input: call{verb: verb, object: object, fields: fields}, Output: a, Call: clock, Return: clock + 1})
	}
	for n := range 20 {
		code := 200
		if n == 0 {
			code = 201
		}
		add("a", "apply", fields{C: n + 1}, answer{code, 10 + 2*n, fields{C: n + 1}})
		add("b", "apply", fields{C: n + 1}, answer{code, 11 + 2*n, fields{C: n + 1}})
	}
	if got := shortest(history); got != nil {
		t.Errorf("a history without a violation: %s", describe(got))
	}
	broken := slices.Clone(history)
	stale := broken[15] // an apply to b
	stale.Output = answer{200, 5, stale.Output.(answer).fields}
	broken[15] = stale
	got := shortest(broken)
	if len(got) != 8 || got[7].Call != stale.Call || got[7].Output != stale.Output {
		t.Errorf("the violation is at %d, by the eighth operation on b; %s", stale.Call, describe(got))
	}
}

// inject makes a request in twenty go wrong, in each way that a write can. Cuts are few: each leaves an operation
// without an end, and the checker tries it at every place.
func inject(c *fakecluster.Cluster) []faults.Injection {
	var injections []faults.Injection
	for _, effect := range []faults.Effect{
		faults.CutAfterCommit(), faults.CutBeforeCommit(), faults.Unavailable(), faults.InternalError("on purpose"),
		faults.Timeout(), faults.TooManyRequests(0), faults.RefuseAdmission("on purpose"),
	} {
		injections = append(injections, c.Inject(faults.Fault{Resource: "registers.example.com", Probability: 0.008, Effect: effect, Optional: true}))
	}
	return append(injections, c.Inject(faults.Fault{Resource: "registers.example.com", Probability: 0.05, Latency: time.Millisecond, Optional: true}))
}

// client is one that remembers the revisions it has seen.
type client struct {
	http   *http.Client
	url    string
	number int
	random *rand.Rand
	seen   map[string]int // revisions, by object
	faulty bool           // some of the requests go wrong on purpose
}

func start(t *testing.T, options ...fakecluster.Option) *fakecluster.Cluster {
	t.Helper()
	c := fakecluster.Start(t, options...)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(manifest), crd); err != nil {
		t.Fatal(err)
	}
	if _, err := c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// record lets clients work at the same time and returns their requests and answers. The seed
// decides what each client asks; when the requests meet, the scheduler decides.
func record(t *testing.T, cluster *fakecluster.Cluster, seed uint64, faulty bool, clients, operations, objects int) []porcupine.Operation {
	t.Helper()
	httpClient, err := rest.HTTPClientFor(cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	histories := make([][]porcupine.Operation, clients)
	var running sync.WaitGroup
	for n := range clients {
		c := &client{http: httpClient, url: cluster.URL(), number: n, random: seedtest.Source(seed, n), seen: map[string]int{}, faulty: faulty}
		running.Go(func() {
			for i := range operations / clients {
				request := c.next(objects, 1+n+i*clients)
				call := int64(time.Since(begin))
				answered, err := c.do(t.Context(), request)
				end := int64(time.Since(begin))
				if err != nil {
					t.Errorf("%+v: %v", request, err)
					return
				}
				if answered.code == cut {
					end = math.MaxInt64 // it may have been made, and may be made later
				}
				histories[n] = append(histories[n], porcupine.Operation{ClientId: n, Input: request, Call: call, Output: answered, Return: end})
			}
		})
	}
	running.Wait()
	if t.Failed() {
		t.FailNow()
	}
	var history []porcupine.Operation
	for _, h := range histories {
		history = append(history, h...)
	}
	return history
}

// next is the client's next request. No other request has the same number, so each value that
// is written is unique.
func (c *client) next(objects, number int) call {
	object := fmt.Sprintf("register-%d", c.random.IntN(objects))
	verbs := []string{"update", "update", "update", "patch", "patch", "patch", "apply", "apply", "apply", "delete", "get"}
	o := call{verb: verbs[c.random.IntN(len(verbs))], object: object}
	switch o.verb {
	case "update":
		if o.revision = c.seen[object]; o.revision == 0 {
			o.verb = "get" // there is no update without a revision
			break
		}
		o.fields = fields{number, number, number}
	case "patch":
		o.fields.B = number
	case "apply":
		o.fields.C = number
	}
	return o
}

func (c *client) do(ctx context.Context, o call) (answer, error) {
	method, contentType, query, body := http.MethodGet, "", "", ""
	switch o.verb {
	case "update":
		method, contentType = http.MethodPut, "application/json"
		body = fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Register","metadata":{"name":%q,"resourceVersion":"%d"},"spec":{"a":%d,"b":%d,"c":%d}}`,
			o.object, o.revision, o.fields.A, o.fields.B, o.fields.C)
	case "patch":
		method, contentType = http.MethodPatch, "application/merge-patch+json"
		body = fmt.Sprintf(`{"spec":{"b":%d}}`, o.fields.B)
	case "apply":
		method, contentType = http.MethodPatch, "application/apply-patch+yaml"
		query = fmt.Sprintf("?force=true&fieldManager=client-%d", c.number)
		body = fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Register","metadata":{"name":%q},"spec":{"c":%d}}`, o.object, o.fields.C)
	case "delete":
		method = http.MethodDelete
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+path+o.object+query, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.http.Do(req)
	if err != nil && ctx.Err() == nil && c.faulty && o.verb != "get" {
		delete(c.seen, o.object)
		return answer{code: cut}, nil
	}
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{code: resp.StatusCode}
	switch a.code {
	case http.StatusOK, http.StatusCreated:
	case http.StatusNotFound, http.StatusConflict:
		delete(c.seen, o.object)
		return a, nil
	default:
		if c.faulty && refused(a.code) && (a.code != http.StatusInternalServerError || strings.Contains(string(text), "on purpose")) {
			return a, nil
		}
		return a, fmt.Errorf("%d %s", a.code, text)
	}
	var got struct {
		Kind     string
		Metadata struct{ ResourceVersion string }
		Spec     fields
	}
	if err := json.Unmarshal(text, &got); err != nil {
		return a, err
	}
	if got.Kind == "Status" {
		delete(c.seen, o.object)
		return a, nil
	}
	a.fields = got.Spec
	a.revision, err = strconv.Atoi(got.Metadata.ResourceVersion)
	c.seen[o.object] = a.revision
	return a, err
}

// checkVariety logs how often each verb ended with each code, and fails if the history lacks one of the frequent ones.
func checkVariety(t *testing.T, history []porcupine.Operation) {
	t.Helper()
	counts := map[string]int{}
	for _, o := range history {
		counts[fmt.Sprintf("%s %d", o.Input.(call).verb, o.Output.(answer).code)]++
	}
	t.Log(counts)
	for _, some := range []string{"update 200", "update 409", "patch 200", "apply 200", "apply 201", "delete 200", "get 200"} {
		if counts[some] == 0 {
			t.Errorf("no %s in the history", some)
		}
	}
}

// The model has to refuse what cannot have been.
func TestModelRefusesLostAndStaleAnswers(t *testing.T) {
	const object = "a"
	made := porcupine.Operation{ClientId: 0, Input: call{verb: "apply", object: object, fields: fields{C: 1}},
		Output: answer{201, 5, fields{C: 1}}, Call: 0, Return: 1}
	patched := porcupine.Operation{ClientId: 0, Input: call{verb: "patch", object: object, fields: fields{B: 2}},
		Output: answer{200, 6, fields{B: 2, C: 1}}, Call: 2, Return: 3}
	lost := porcupine.Operation{ClientId: 2, Input: call{verb: "patch", object: object, fields: fields{B: 4}}, Output: answer{code: cut}, Call: 2, Return: math.MaxInt64}
	// after adds an operation, and a read if its answer is given.
	after := func(o call, a answer, read ...answer) []porcupine.Operation {
		o.object = object
		operations := []porcupine.Operation{made, patched, {ClientId: 1, Input: o, Output: a, Call: 4, Return: 5}}
		for _, r := range read {
			operations = append(operations, porcupine.Operation{ClientId: 1, Input: call{verb: "get", object: object}, Output: r, Call: 6, Return: 7})
		}
		return operations
	}
	for _, c := range []struct {
		rule    string
		history []porcupine.Operation
		want    bool
	}{
		{"a read of the last write", after(call{verb: "get"}, answer{200, 6, fields{B: 2, C: 1}}), true},
		{"a stale read", after(call{verb: "get"}, answer{200, 5, fields{C: 1}}), false},
		{"a lost object", after(call{verb: "get"}, answer{code: 404}), false},
		{"a lost patch", after(call{verb: "apply", fields: fields{C: 3}}, answer{200, 7, fields{C: 3}}), false},
		{"a revision that went back", after(call{verb: "apply", fields: fields{C: 3}}, answer{200, 4, fields{B: 2, C: 3}}), false},
		{"an update of an older revision", after(call{verb: "update", revision: 5, fields: fields{3, 3, 3}}, answer{200, 7, fields{3, 3, 3}}), false},
		{"a conflict without a reason", after(call{verb: "update", revision: 6, fields: fields{3, 3, 3}}, answer{code: 409}), false},
		{"a write that was cut, and was made", []porcupine.Operation{made, lost, {ClientId: 1, Input: call{verb: "get", object: object}, Output: answer{200, 9, fields{B: 4, C: 1}}, Call: 4, Return: 5}}, true},
		{"a write that was cut, and was not made", []porcupine.Operation{made, lost, {ClientId: 1, Input: call{verb: "get", object: object}, Output: answer{200, 5, fields{C: 1}}, Call: 4, Return: 5}}, true},
		{"half a write that was cut", []porcupine.Operation{made, lost, {ClientId: 1, Input: call{verb: "get", object: object}, Output: answer{200, 9, fields{C: 1}}, Call: 4, Return: 5}}, false},
		{"a refused write that was made", after(call{verb: "patch", fields: fields{B: 7}}, answer{code: 503}, answer{200, 7, fields{B: 7, C: 1}}), false},
		{"a second creation", after(call{verb: "apply", fields: fields{C: 3}}, answer{201, 7, fields{B: 2, C: 3}}), false},
	} {
		if got := porcupine.CheckOperations(model(), c.history); got != c.want {
			t.Errorf("%s: linearizable: %v, want %v", c.rule, got, c.want)
		}
	}
	twice := after(call{verb: "apply", fields: fields{C: 3}}, answer{200, 6, fields{B: 2, C: 3}})
	if disordered(twice) == "" {
		t.Error("two writes of one revision are in order")
	}
}
