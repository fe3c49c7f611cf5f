package fakecluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	clientrest "k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/clientgo"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// The benchmarks measure what a client sees: client-go's dynamic client, one
// request at a time, a CronTab of 446 bytes with a schema and two CEL rules.
//
// The floor is the cost of HTTP and client-go alone: the same client sends the same requests to
// a handler that returns ready bytes, those that the cluster returned. The two take turns in one
// run, so that other work of the machine affects both.
// ns/op is the cluster's, floor-ns/op the floor's, and x-floor their ratio.

// objectBytes is the size of the CronTab that is written.
const objectBytes = 446

// weighedDefinition returns the definition of the CronTab that is measured. Each n gives another
// schema, so that no cache has it.
func weighedDefinition(n int) *apiextensionsv1.CustomResourceDefinition {
	crd := cronTabDefinition()
	const schema = `
type: object
properties:
  spec:
    type: object
    required: [cronSpec, image]
    x-kubernetes-validations:
    - rule: self.minReplicas <= self.replicas
      message: replicas must not be below minReplicas
    - rule: self.replicas <= self.maxReplicas
      message: replicas must not be above maxReplicas
    properties:
      cronSpec: {type: string, maxLength: 100, pattern: '^(\S+\s+){4}\S+$'}
      image: {type: string, maxLength: 200}
      replicas: {type: integer, minimum: 0, default: 1}
      minReplicas: {type: integer, minimum: 0, default: 0}
      maxReplicas: {type: integer, maximum: %d, default: 10}
      suspend: {type: boolean, default: false}
      args: {type: array, maxItems: 20, items: {type: string}}
  status:
    type: object
    properties:
      active: {type: integer}
`
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{}
	if err := yaml.UnmarshalStrict(fmt.Appendf(nil, schema, 1_000_000_000+n), crd.Spec.Versions[0].Schema.OpenAPIV3Schema); err != nil {
		panic(err)
	}
	return crd
}

// weighed is a CronTab of objectBytes. Names are to be as long as each other.
func weighed(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: object{
		"apiVersion": "stable.example.com/v1", "kind": "CronTab",
		"metadata": object{
			"name": name, "namespace": "default",
			"labels": object{"app.kubernetes.io/name": "crontab", "app.kubernetes.io/part-of": "benchmark"},
		},
		"spec": object{
			"cronSpec": "* * * * */5", "image": "registry.example.com/team/my-awesome-cron-image:v1.2.3",
			"replicas": int64(3), "minReplicas": int64(1), "maxReplicas": int64(1_000_000_000), "suspend": false,
			"args": []any{"--verbose", "--retries=3", ""},
		},
	}}
	text, err := u.MarshalJSON()
	if err != nil {
		panic(err)
	}
	fill := objectBytes - len(strings.TrimSpace(string(text)))
	u.Object["spec"].(object)["args"].([]any)[2] = strings.Repeat("x", fill)
	return u
}

func nameOf(n int) string { return fmt.Sprintf("cron-%07d", n) }

// bench is a cluster and, beside it, its floor.
type bench struct {
	cluster, floor dynamic.ResourceInterface
	c              *fakecluster.Cluster
	n              int // of the next object or change
}

// newBench starts a cluster with the given number of objects, and the floor that
// answers as it does.
func newBench(b *testing.B, objects int, way ...fakecluster.Option) *bench {
	b.Helper()
	c := fakecluster.Start(b, way...)
	define(b, c, weighedDefinition(0))
	for ; objects > 0; objects-- {
		create(b, inDefault(c), weighed(nameOf(objects)))
	}
	return &bench{cluster: inDefault(c), floor: newFloor(b, c, way), c: c, n: 1_000_000}
}

// newFloor is a server that returns ready bytes, reached in the same way as the
// cluster.
func newFloor(b *testing.B, c *fakecluster.Cluster, way []fakecluster.Option) dynamic.ResourceInterface {
	b.Helper()
	const path = "/apis/stable.example.com/v1/namespaces/default/crontabs"
	answer := raw(b, c, path)
	one := raw(b, c, path+"/"+nameOf(1))
	event := `{"type":"MODIFIED","object":` + string(bytes.TrimSpace(one)) + "}\n"
	watchers := make(chan chan<- struct{}, 1) // who waits for a patch, if there is one
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		body, code := one, http.StatusOK
		switch {
		case r.URL.Query().Has("watch"):
			patched := make(chan struct{}, 1)
			watchers <- patched
			for w.(http.Flusher).Flush(); r.Context().Err() == nil; w.(http.Flusher).Flush() {
				select {
				case <-patched:
					_, _ = io.WriteString(w, event)
				case <-r.Context().Done():
				}
			}
			return
		case r.Method == http.MethodPatch && len(watchers) == 1:
			patched := <-watchers
			patched <- struct{}{}
			watchers <- patched
		case r.Method == http.MethodPost:
			code = http.StatusCreated
		case r.Method == http.MethodGet && r.URL.Path == path:
			body = answer
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(code)
		_, _ = w.Write(body)
	})
	access := clientgo.Access{Token: "floor"}
	if len(way) == 0 {
		server := httptest.NewServer(h)
		transport := &http.Transport{}
		b.Cleanup(func() {
			transport.CloseIdleConnections()
			server.Close()
		})
		access.URL, access.Transport = server.URL, transport
	} else {
		transport := clientgo.InProcess(h)
		b.Cleanup(func() { transport.Close() })
		access.Transport = transport
	}
	clients, err := clientgo.NewClients(access.RESTConfig())
	must(b, err)
	return clients.Dynamic.Resource(cronTabs).Namespace("default")
}

// raw returns the answer of a cluster to a GET of a path.
func raw(b *testing.B, c *fakecluster.Cluster, path string) []byte {
	b.Helper()
	client, err := clientrest.HTTPClientFor(c.RESTConfig())
	must(b, err)
	resp, err := client.Get(c.URL() + path)
	must(b, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(b, err)
	if resp.StatusCode != http.StatusOK {
		b.Fatalf("%s: %s", path, body)
	}
	return body
}

// overHTTPAndInProcess runs a benchmark in the two ways that the budget has.
func overHTTPAndInProcess(b *testing.B, run func(b *testing.B, way ...fakecluster.Option)) {
	b.Run("http", func(b *testing.B) { run(b) })
	b.Run("in-process", func(b *testing.B) { run(b, fakecluster.InProcess()) })
}

// beside measures an operation and its floor in turns. The preparation is not
// measured.
func beside[T any](b *testing.B, prepare func() T, cluster, floor func(T) error) {
	b.Helper()
	var ours, least time.Duration
	for b.Loop() {
		given := prepare()
		start := time.Now()
		err := cluster(given)
		between := time.Now()
		if err == nil {
			err = floor(given)
		}
		end := time.Now()
		if err != nil {
			b.Fatal(err)
		}
		ours += between.Sub(start)
		least += end.Sub(between)
	}
	b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N), "ns/op")
	b.ReportMetric(float64(least.Nanoseconds())/float64(b.N), "floor-ns/op")
	b.ReportMetric(float64(ours)/float64(least), "x-floor")
}

// BenchmarkStart is from New to the first answer, in a warm process. It has no
// floor.
func BenchmarkStart(b *testing.B) {
	overHTTPAndInProcess(b, func(b *testing.B, way ...fakecluster.Option) {
		for b.Loop() {
			c, err := fakecluster.New(way...)
			must(b, err)
			if _, err := c.Discovery().ServerVersion(); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			must(b, c.Close())
			b.StartTimer()
		}
	})
}

// BenchmarkDefinition is from the POST of a definition, with a schema that the
// process has not seen before, until the first create has succeeded. It has no
// floor.
func BenchmarkDefinition(b *testing.B) {
	overHTTPAndInProcess(b, func(b *testing.B, way ...fakecluster.Option) {
		for n := 1; b.Loop(); n++ {
			b.StopTimer()
			c, err := fakecluster.New(way...)
			must(b, err)
			// Unlike any other one, also of an earlier run of this function.
			crd := weighedDefinition(int(time.Now().UnixNano() % 1e9))
			b.StartTimer()
			define(b, c, crd)
			create(b, inDefault(c), weighed(nameOf(n)))
			b.StopTimer()
			must(b, c.Close())
			b.StartTimer()
		}
	})
}

func BenchmarkGet(b *testing.B) {
	overHTTPAndInProcess(b, func(b *testing.B, way ...fakecluster.Option) {
		s := newBench(b, 1, way...)
		get := func(r dynamic.ResourceInterface) func(string) error {
			return func(name string) error {
				_, err := r.Get(b.Context(), name, metav1.GetOptions{})
				return err
			}
		}
		beside(b, func() string { return nameOf(1) }, get(s.cluster), get(s.floor))
	})
}

func BenchmarkCreate(b *testing.B) {
	overHTTPAndInProcess(b, func(b *testing.B, way ...fakecluster.Option) {
		s := newBench(b, 1, way...)
		create := func(r dynamic.ResourceInterface) func(*unstructured.Unstructured) error {
			return func(u *unstructured.Unstructured) error {
				_, err := r.Create(b.Context(), u, metav1.CreateOptions{})
				return err
			}
		}
		beside(b, func() *unstructured.Unstructured {
			s.n++
			return weighed(nameOf(s.n))
		}, create(s.cluster), create(s.floor))
	})
}

// BenchmarkSchema is a create, beside one of the same object under a definition
// that has no schema to speak of: what pruning, defaults, validation and rules add
// is schema-ns/op.
func BenchmarkSchema(b *testing.B) {
	s, bare := newBench(b, 1, fakecluster.InProcess()), fakecluster.Start(b, fakecluster.InProcess())
	crd, everything := weighedDefinition(0), true
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &everything}
	define(b, bare, crd)
	var with, without time.Duration
	for b.Loop() {
		s.n++
		u := weighed(nameOf(s.n))
		start := time.Now()
		create(b, s.cluster, u)
		between := time.Now()
		create(b, inDefault(bare), u)
		with, without = with+between.Sub(start), without+time.Since(between)
	}
	b.ReportMetric(float64(with.Nanoseconds())/float64(b.N), "ns/op")
	b.ReportMetric(float64((with-without).Nanoseconds())/float64(b.N), "schema-ns/op")
}

func BenchmarkUpdate(b *testing.B) {
	overHTTPAndInProcess(b, func(b *testing.B, way ...fakecluster.Option) {
		s := newBench(b, 1, way...)
		current := get(b, s.cluster, nameOf(1))
		beside(b, func() *unstructured.Unstructured {
			s.n++
			next := current.DeepCopy()
			next.Object["spec"].(object)["replicas"] = int64(s.n)
			return next
		}, func(u *unstructured.Unstructured) (err error) {
			current, err = s.cluster.Update(b.Context(), u, metav1.UpdateOptions{})
			return err
		}, func(u *unstructured.Unstructured) error {
			_, err := s.floor.Update(b.Context(), u, metav1.UpdateOptions{})
			return err
		})
	})
}

// nextPatch is a merge patch that changes something.
func (s *bench) nextPatch() []byte {
	s.n++
	return fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, s.n)
}

func mergePatch(ctx context.Context, r dynamic.ResourceInterface) func([]byte) error {
	return func(patch []byte) error {
		_, err := r.Patch(ctx, nameOf(1), types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}
}

func BenchmarkMergePatch(b *testing.B) {
	overHTTPAndInProcess(b, func(b *testing.B, way ...fakecluster.Option) {
		s := newBench(b, 1, way...)
		beside(b, s.nextPatch, mergePatch(b.Context(), s.cluster), mergePatch(b.Context(), s.floor))
	})
}

func BenchmarkApply(b *testing.B) {
	overHTTPAndInProcess(b, func(b *testing.B, way ...fakecluster.Option) {
		s := newBench(b, 1, way...)
		apply := func(r dynamic.ResourceInterface) func(*unstructured.Unstructured) error {
			return func(u *unstructured.Unstructured) error {
				_, err := r.Apply(b.Context(), u.GetName(), u, metav1.ApplyOptions{FieldManager: "benchmark", Force: true})
				return err
			}
		}
		beside(b, func() *unstructured.Unstructured {
			s.n++
			u := weighed(nameOf(1))
			u.Object["spec"].(object)["replicas"] = int64(s.n)
			return u
		}, apply(s.cluster), apply(s.floor))
	})
}

func BenchmarkListOf1000(b *testing.B) {
	overHTTPAndInProcess(b, func(b *testing.B, way ...fakecluster.Option) {
		s := newBench(b, 1000, way...)
		list := func(r dynamic.ResourceInterface) func(int) error {
			return func(want int) error {
				l, err := r.List(b.Context(), metav1.ListOptions{})
				if err == nil && len(l.Items) != want {
					err = fmt.Errorf("%d objects", len(l.Items))
				}
				return err
			}
		}
		beside(b, func() int { return 1000 }, list(s.cluster), list(s.floor))
	})
}

// BenchmarkWatch is from a merge patch until a watcher has the change. Its floor is
// that of the patch.
func BenchmarkWatch(b *testing.B) {
	overHTTPAndInProcess(b, func(b *testing.B, way ...fakecluster.Option) {
		s := newBench(b, 1, way...)
		beside(b, s.nextPatch, patchAndHear(b, s.cluster), mergePatch(b.Context(), s.floor))
	})
}

// BenchmarkWatchDelivery is BenchmarkWatch with another floor: a patch of ready bytes
// until a watcher has a ready event.
func BenchmarkWatchDelivery(b *testing.B) {
	overHTTPAndInProcess(b, func(b *testing.B, way ...fakecluster.Option) {
		s := newBench(b, 1, way...)
		beside(b, s.nextPatch, patchAndHear(b, s.cluster), patchAndHear(b, s.floor))
	})
}

// patchAndHear is a merge patch, and the wait for a watcher to have the change.
func patchAndHear(b *testing.B, r dynamic.ResourceInterface) func([]byte) error {
	b.Helper()
	w, err := r.Watch(b.Context(), metav1.ListOptions{ResourceVersion: list(b, r).GetResourceVersion()})
	must(b, err)
	b.Cleanup(w.Stop)
	patch := mergePatch(b.Context(), r)
	return func(p []byte) error {
		if err := patch(p); err != nil {
			return err
		}
		if e, open := <-w.ResultChan(); !open || e.Type != "MODIFIED" {
			return fmt.Errorf("the watch says %+v", e)
		}
		return nil
	}
}

// BenchmarkFork is a copy of a cluster with 1000 objects. The budget does not have
// it; the promise is a millisecond.
func BenchmarkFork(b *testing.B) {
	overHTTPAndInProcess(b, func(b *testing.B, way ...fakecluster.Option) {
		s := newBench(b, 1000, way...)
		for b.Loop() {
			f := s.c.Fork(b)
			b.StopTimer()
			must(b, f.Close())
			b.StartTimer()
		}
	})
}

// The benchmarks write the object that the budget describes.
func TestBenchmarksWriteTheObjectOfTheBudget(t *testing.T) {
	for _, n := range []int{1, 1_000_001} {
		text, err := json.Marshal(weighed(nameOf(n)).Object)
		must(t, err)
		equal(t, "bytes", len(text), objectBytes)
	}
	c := fakecluster.Start(t, fakecluster.InProcess())
	define(t, c, weighedDefinition(0))
	create(t, inDefault(c), weighed(nameOf(1)))
	u := weighed(nameOf(2))
	u.Object["spec"].(object)["replicas"] = int64(0)
	_, err := inDefault(c).Create(t.Context(), u, metav1.CreateOptions{})
	fails(t, "a rule that does not hold", err, `CronTab.stable.example.com "cron-0000002" is invalid: `+
		`spec: Invalid value: replicas must not be below minReplicas`)
}
