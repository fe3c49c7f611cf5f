package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// seed is a request that package conformance makes; see conformance/wire/seeds.go.
type seed struct {
	Method, Target, Accept, ContentType, Body string
	Binary                                    []byte
}

func (s seed) body() []byte {
	if s.Binary != nil {
		return s.Binary
	}
	return []byte(s.Body)
}

// resource returns the API group and the resource of the target.
func (s seed) resource() (group, resource string) {
	found := resourcePath.FindStringSubmatch(s.Target)
	if found == nil {
		return "", ""
	}
	return found[1], found[2]
}

var resourcePath = regexp.MustCompile(`^/(?:api|apis/([^/?]+))/[^/?]+(?:/namespaces/[^/?]+)?/([^/?]+)`)

// conformanceSeeds returns the requests of package conformance. A target that adds some of them
// plays a part of these under the race detector, and all in other runs.
func conformanceSeeds(t testing.TB) []seed {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "conformance.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var seeds []seed
	for lines := json.NewDecoder(bufio.NewReader(file)); lines.More(); {
		var s seed
		if err := lines.Decode(&s); err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, s)
	}
	return seeds
}

// some leaves out nine of ten seeds under the race detector.
func some(n int) bool { return n%(1000/seedtest.Cases(1000)) == 0 }

// fuzzed has the kinds of the seeds, and an object of each kind that has one.
func fuzzed(f *testing.F, seeds []seed) *cluster {
	f.Helper()
	base := startInProcess(f)
	for _, d := range []string{definition(f, "widgets"), richDefinition} {
		if a := base.serve("POST", definitionsPath, jsonBody, []byte(d)); a.code != http.StatusCreated {
			f.Fatal(a.body)
		}
	}
	made := map[string]bool{}
	for _, definitions := range []bool{true, false} {
		for _, s := range seeds {
			group, resource := s.resource()
			// What validates or moves the requests of others would be in the way of all seeds.
			if s.Method != "POST" || strings.Contains(s.Target, "?") || group == "admissionregistration.k8s.io" || group == "apiregistration.k8s.io" || made[s.Target] || definitions != (group == "apiextensions.k8s.io") {
				continue
			}
			if a := base.serve("POST", s.Target, header(s.ContentType, ""), s.body()); a.code == http.StatusCreated && !definitions {
				made[s.Target] = resource != ""
			}
		}
	}
	if len(made) < 50 {
		f.Fatalf("the seeds have made objects of %d kinds alone", len(made))
	}
	return base
}

func header(contentType, accept string) http.Header {
	h := http.Header{}
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	if accept != "" {
		h.Set("Accept", accept)
	}
	return h
}

// FuzzBody sends any body by any request, as clients send them to built-in and custom kinds in JSON,
// YAML, CBOR and protobuf: objects, patches, options of deletes, subresources. What has been accepted
// can be read in each form.
func FuzzBody(f *testing.F) {
	quiet(f)
	seeds := conformanceSeeds(f)
	base := fuzzed(f, seeds)
	for i, s := range seeds {
		if len(s.body()) == 0 || !some(i) {
			continue
		}
		f.Add(s.Method, s.Target, s.ContentType, s.body())
		if s.Method == "POST" && s.ContentType == "application/json" && i%3 == 0 {
			target := strings.Split(s.Target, "?")[0]
			a := base.fork(f).serve("POST", target+"?dryRun=All", header(s.ContentType, "application/vnd.kubernetes.protobuf"), s.body())
			if a.code == http.StatusCreated {
				f.Add("POST", target, "application/vnd.kubernetes.protobuf", []byte(a.body))
			}
		}
	}
	f.Fuzz(func(t *testing.T, method, target, contentType string, body []byte) {
		u, ok := handedOn(method, target)
		if !ok || endless(u) {
			t.Skip()
		}
		c := base.fork(t)
		a := c.serve(method, target, header(contentType, ""), body)
		request := method + " " + target + " " + contentType + " " + string(body)
		answered(t, a, request)
		if a.code >= 300 || method == "GET" || method == "DELETE" {
			return
		}
		for _, accept := range []string{"application/json", "application/yaml", "application/json;as=Table;g=meta.k8s.io;v=v1,application/json", "application/vnd.kubernetes.protobuf,application/json"} {
			read := c.serve("GET", u.EscapedPath(), header("", accept), nil)
			// YAML has no control characters, and a real server fails in the same way.
			if read.code == http.StatusInternalServerError && !strings.Contains(read.body, "control characters are not allowed") {
				t.Fatalf("after %s was answered with %d, a read as %s: %d %s", request, a.code, accept, read.code, read.body)
			}
		}
	})
}

// begin serves a request until its answer has begun, and ends it then: a watch has no end of its own.
func (c *cluster) begin(method, target string, header http.Header) answer {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req := httptest.NewRequestWithContext(ctx, method, target, nil)
	req.Header = header.Clone()
	req.Header.Set("Authorization", "Bearer "+token)
	w := beginning{httptest.NewRecorder(), cancel}
	c.handler.ServeHTTP(w, req)
	return answer{w.Code, w.Result().Header, w.Body.String()}
}

// beginning is an answer that has begun when it is flushed.
type beginning struct {
	*httptest.ResponseRecorder
	begun func()
}

func (b beginning) Flush() {
	b.ResponseRecorder.Flush()
	b.begun()
}

// handedOn reports whether an HTTP server would hand a request on, and returns its URL.
func handedOn(method, target string) (*url.URL, bool) {
	if strings.ContainsAny(method+target, "\r\n") || !strings.HasPrefix(target, "/") {
		return nil, false
	}
	req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(method + " " + target + " HTTP/1.0\r\nHost: x\r\n\r\n")))
	if err != nil {
		return nil, false
	}
	return req.URL, true
}

// endless reports whether an answer may have no end of its own: that of a watch.
func endless(u *url.URL) bool {
	return u.Query().Has("watch") || strings.Contains(u.Path, "/watch")
}

// waits reports whether a read may wait for a revision that is yet to come.
func waits(u *url.URL) bool {
	revision, err := strconv.ParseUint(u.Query().Get("resourceVersion"), 10, 64)
	return err == nil && revision > 100
}
