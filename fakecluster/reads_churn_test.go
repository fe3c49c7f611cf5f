package fakecluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientrest "k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/seedtest"
)

// The objects that the tests of reads churn: two versions, a field to select by,
// columns whose cells do not depend on the time, a status of its own.
const sampleManifest = `
metadata: {name: samples.reads.example.com}
spec:
  group: reads.example.com
  scope: Namespaced
  names: {plural: samples, singular: sample, kind: Sample, listKind: SampleList}
  versions:
  - &v1
    name: v1
    served: true
    storage: true
    subresources: {status: {}}
    selectableFields: [{jsonPath: .spec.color}]
    additionalPrinterColumns:
    - {name: Color, type: string, jsonPath: .spec.color}
    - {name: Count, type: integer, jsonPath: .spec.count}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {color: {type: string}, count: {type: integer}}}
          status: {type: object, properties: {seen: {type: integer}}}
  - <<: *v1
    name: v2
    storage: false
`

const samplesPath = "/apis/reads.example.com/v1"

var samples = schema.GroupVersionResource{Group: "reads.example.com", Version: "v1", Resource: "samples"}

func sampleDefinition() *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal([]byte(sampleManifest), crd); err != nil {
		panic(err)
	}
	return crd
}

// where the samples are.
var (
	sampleNamespaces = []string{"default", "kube-public"}
	sampleNames      = []string{"o-0", "o-1", "o-2", "o-3", "o-4", "o-5", "o-6", "o-7"}
)

// wire speaks to a cluster in requests and answers as they are on the wire.
type wire struct {
	client *http.Client
	url    string
}

func newWire(t testing.TB, c *fakecluster.Cluster) wire {
	t.Helper()
	client, err := clientrest.HTTPClientFor(c.RESTConfig())
	must(t, err)
	return wire{client, c.URL()}
}

// open sends a request and returns the answer, the body still to be read.
func (w wire) open(ctx context.Context, method, path, contentType, accept, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, w.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "reads")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	return w.client.Do(req)
}

// send sends a request and returns the code and the body of the answer.
func (w wire) send(ctx context.Context, method, path, contentType, body string) (int, string, error) {
	resp, err := w.open(ctx, method, path, contentType, "", body)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, strings.TrimSuffix(string(text), "\n"), err
}

// read is send for a GET in a test that needs the answer.
func (w wire) read(t testing.TB, path string) (int, string) {
	t.Helper()
	code, body, err := w.send(t.Context(), http.MethodGet, path, "", "")
	must(t, err)
	return code, body
}

// sampleMeta is what the tests look at in an answer's object.
type sampleMeta struct {
	Metadata struct {
		Name, Namespace, ResourceVersion, DeletionTimestamp string
		Labels, Annotations                                 map[string]string
		Finalizers                                          []string
	}
	Spec struct{ Color string }
}

func metaOf(text string) (m sampleMeta, err error) {
	return m, json.Unmarshal([]byte(text), &m)
}

// written is a write that the server accepted.
type written struct {
	verb, key string
	body      string // the answer
}

// churn is a number of writers that create, update, patch, apply and delete.
type churn struct {
	wire    wire
	seed    uint64
	writers int
	each    int                            // requests of each writer
	rest    func(*rand.Rand) time.Duration // between them, by the clock of a bubble; nil: none

	mu       sync.Mutex
	accepted []written
	asked    int
	gates    map[int]chan struct{} // closed after so many requests
}

// after is closed when so many requests have been answered.
func (c *churn) after(requests int) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gates == nil {
		c.gates = map[int]chan struct{}{}
	}
	gate, ok := c.gates[requests]
	if !ok {
		gate = make(chan struct{})
		c.gates[requests] = gate
		if c.asked >= requests {
			close(gate)
		}
	}
	return gate
}

func (c *churn) answered(verb, key string, code int, body string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if code < 300 {
		c.accepted = append(c.accepted, written{verb, key, body})
	}
	c.asked++
	if gate, ok := c.gates[c.asked]; ok {
		close(gate)
	}
}

// run writes until all writers are done, and then writes all objects once more, in
// the order of their keys, so that every selector the tests use picks them, with
// the annotation "last". A watcher that has seen its last object is at the end.
func (c *churn) run(t testing.TB) {
	var writers sync.WaitGroup
	for n := range c.writers {
		writers.Go(func() {
			random := seedtest.Source(c.seed, n)
			for i := range c.each {
				if c.rest != nil {
					time.Sleep(c.rest(random))
				}
				if err := c.write(t.Context(), random, n*1_000_000+i); err != nil {
					t.Errorf("writer %d: %v", n, err)
					return
				}
			}
		})
	}
	writers.Wait()
	for _, namespace := range sampleNamespaces {
		for _, name := range sampleNames {
			if c.rest != nil {
				time.Sleep(time.Second) // in which watchers keep up, however short the history
			}
			const last = `{"apiVersion":"reads.example.com/v1","kind":"Sample","metadata":{"name":%q,"labels":{"parity":"even","tier":"a"},` +
				`"annotations":{"last":"true"}},"spec":{"color":"red","count":-1}}`
			path := samplesPath + "/namespaces/" + namespace + "/samples/" + name + "?fieldManager=last&force=true"
			code, body, err := c.wire.send(t.Context(), http.MethodPatch, path, "application/apply-patch+yaml", fmt.Sprintf(last, name))
			if err != nil || code >= 300 {
				t.Errorf("the last write of %s/%s: %d %s %v", namespace, name, code, body, err)
			}
			c.answered("last", namespace+"/"+name, code, body)
		}
	}
}

// write sends a write, whose number makes it unlike all others. Refusals for what
// other writers did are no errors.
func (c *churn) write(ctx context.Context, random *rand.Rand, number int) error {
	namespace, name := pick(random, sampleNamespaces), pick(random, sampleNames)
	collection := samplesPath + "/namespaces/" + namespace + "/samples"
	path := collection + "/" + name
	content := func(resourceVersion string) string {
		labels := []string{fmt.Sprintf(`"parity":%q`, pick(random, []string{"even", "odd"}))}
		if tier := pick(random, []string{"a", "b", "c", ""}); tier != "" {
			labels = append(labels, fmt.Sprintf(`"tier":%q`, tier))
		}
		return fmt.Sprintf(`{"apiVersion":"reads.example.com/v1","kind":"Sample","metadata":{"name":%q,%s"labels":{%s}},"spec":{"color":%q,"count":%d}}`,
			name, resourceVersion, strings.Join(labels, ","), pick(random, []string{"red", "green", "blue"}), number)
	}
	var method, contentType, body string
	verb := pick(random, []string{"create", "create", "update", "update", "nothing", "merge", "json", "status", "apply", "finalize", "delete"})
	switch verb {
	case "create":
		method, path, contentType, body = http.MethodPost, collection, "application/json", content("")
	case "update", "nothing":
		code, current, err := c.wire.send(ctx, http.MethodGet, path, "", "")
		if err != nil {
			return err
		}
		if code == http.StatusNotFound {
			c.answered(verb, "", code, "")
			return nil
		}
		m, err := metaOf(current)
		if err != nil {
			return err
		}
		method, contentType, body = http.MethodPut, "application/json", current
		if verb == "update" {
			body = content(fmt.Sprintf(`"resourceVersion":%q,`, m.Metadata.ResourceVersion))
		}
	case "merge":
		method, contentType = http.MethodPatch, "application/merge-patch+json"
		body = fmt.Sprintf(`{"metadata":{"labels":{"tier":%s}},"spec":{"count":%d}}`, pick(random, []string{`"a"`, `"c"`, "null"}), number)
	case "json":
		method, contentType = http.MethodPatch, "application/json-patch+json"
		body = fmt.Sprintf(`[{"op":"add","path":"/spec/color","value":%q},{"op":"add","path":"/spec/count","value":%d}]`, pick(random, []string{"red", "green"}), number)
	case "status":
		method, path, contentType = http.MethodPatch, path+"/status", "application/merge-patch+json"
		body = fmt.Sprintf(`{"status":{"seen":%d}}`, number)
	case "apply":
		method, path, contentType, body = http.MethodPatch, path+"?force=true&fieldManager="+pick(random, []string{"x", "y"}), "application/apply-patch+yaml", content("")
	case "finalize":
		method, contentType = http.MethodPatch, "application/merge-patch+json"
		body = fmt.Sprintf(`{"metadata":{"finalizers":%s}}`, pick(random, []string{`["reads.example.com/f"]`, "null", "null"}))
	case "delete":
		method = http.MethodDelete
	}
	code, answer, err := c.wire.send(ctx, method, path, contentType, body)
	if err != nil {
		return err
	}
	switch code {
	case http.StatusOK, http.StatusCreated, http.StatusNotFound, http.StatusConflict:
	case http.StatusUnprocessableEntity: // a finalizer cannot be added to what is being deleted
		if verb != "finalize" {
			return fmt.Errorf("%s %s: %d %s", verb, path, code, answer)
		}
	default:
		return fmt.Errorf("%s %s: %d %s", verb, path, code, answer)
	}
	c.answered(verb, namespace+"/"+name, code, answer)
	return nil
}

func pick[T any](random *rand.Rand, of []T) T { return of[random.IntN(len(of))] }
