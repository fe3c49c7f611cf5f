package rest_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/internal/server"
	"github.com/fakecluster/fakecluster/rest"
	"github.com/fakecluster/fakecluster/store"
)

// token is what the tests bear.
const token = "test-token"

// patience is how long a stream may take to bring what has to come at once. It
// ends a test that would hang; nothing waits for it.
const patience = time.Minute

// cluster is a server over a store of its own, behind a real HTTP server.
type cluster struct {
	t       testing.TB
	url     string
	bearer  string // empty: no Authorization header
	store   *store.Store
	server  *server.Cluster
	handler *rest.Handler
	client  *http.Client
}

// options are those of a cluster, and of the handler that serves it.
type options struct {
	clusterOptions
	handlerOptions
}

type (
	clusterOptions = server.Options
	handlerOptions = rest.Options
)

// start makes a cluster that ends with the test.
func start(t testing.TB, change ...func(*options, *store.Options)) *cluster {
	t.Helper()
	c := startInProcess(t, change...)
	web := httptest.NewServer(c.handler)
	t.Cleanup(func() {
		c.server.Close() // ends the watches that web.Close waits for
		web.Close()
	})
	c.url, c.client = web.URL, web.Client()
	return c
}

// startInProcess makes a cluster that only serve can reach.
func startInProcess(t testing.TB, change ...func(*options, *store.Options)) *cluster {
	t.Helper()
	options, storeOptions := options{clusterOptions: server.Options{Token: token}}, store.Options{}
	options.Controllers = []string{"namespace-controller", "storage-version-migrator-controller", "validatingadmissionpolicy-status-controller"}
	for _, f := range change {
		f(&options, &storeOptions)
	}
	s, err := store.Open(storeOptions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	server, err := server.New(s, options.clusterOptions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return &cluster{t: t, bearer: token, store: s, server: server, handler: rest.New(server, options.handlerOptions)}
}

// fork makes a copy of a cluster that only serve can reach.
func (c *cluster) fork(t testing.TB) *cluster {
	t.Helper()
	s, err := c.store.Fork()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	server, err := c.server.Fork(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return &cluster{t: t, bearer: token, store: s, server: server, handler: rest.New(server, rest.Options{})}
}

// answer is what came back of a request.
type answer struct {
	code   int
	header http.Header
	body   string
}

// open sends a request and returns the answer with its body still to be read.
func (c *cluster) open(method, path string, header http.Header, body string) *http.Response {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	c.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	if c.bearer != "" && req.Header.Get("Authorization") == "" {
		req.Header.Set("Authorization", "Bearer "+c.bearer)
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "wire") // curl and browsers get pretty answers
	}
	if req.Header.Get("Accept-Encoding") == "" {
		req.Header.Set("Accept-Encoding", "identity")
	}
	res, err := c.client.Do(req)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return res
}

// do sends a request and reads the whole answer.
func (c *cluster) do(method, path string, header http.Header, body string) answer {
	c.t.Helper()
	res := c.open(method, path, header, body)
	defer res.Body.Close()
	read, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatalf("%s %s: reading the answer: %v", method, path, err)
	}
	return answer{res.StatusCode, res.Header, string(read)}
}

// serve calls the handler without a socket, as an in-process client does.
func (c *cluster) serve(method, target string, header http.Header, body []byte) answer {
	req := httptest.NewRequest(method, target, bytes.NewReader(body))
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, req)
	return answer{w.Code, w.Result().Header, w.Body.String()}
}

// must sends a request that has to succeed; a body is JSON.
func (c *cluster) must(method, path, body string) string {
	c.t.Helper()
	a := c.do(method, path, jsonBody, body)
	if a.code >= 300 {
		c.t.Fatalf("%s %s: %d %s", method, path, a.code, a.body)
	}
	return a.body
}

// install creates the definition of that name in testdata/crds.
func (c *cluster) install(names ...string) {
	c.t.Helper()
	for _, name := range names {
		c.must("POST", definitionsPath, definition(c.t, name))
	}
}

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// definition is the text of a definition in testdata/crds.
func definition(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "crds", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var jsonBody = http.Header{"Content-Type": {"application/json"}}

// expect compares and shows what differs.
func expect(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
