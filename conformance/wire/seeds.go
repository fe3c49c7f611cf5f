package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/fakecluster/fakecluster/conformance/wire/exchange"
	"github.com/fakecluster/fakecluster/conformance/wire/stories"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// seedsFile is read by the fuzz targets in package rest.
const seedsFile = "../rest/testdata/conformance.jsonl"

// writeSeeds writes the requests that differ in what they make a server decode: all those of the
// stories; of the resources those with mistakes for a few kinds, and the lives' bodies for all.
func writeSeeds(ctx context.Context, file string) (err error) {
	c, err := fakecluster.New(fakecluster.WithSeed(1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	cfg := c.RESTConfig()
	resources, err := requests(cfg)
	if err != nil {
		return err
	}
	fromStories, err := stories.All()
	if err != nil {
		return err
	}
	var chosen []exchange.Request
	for _, r := range resources {
		if r.Needed || r.Group == "start" || mistakesOf[r.Group] || lives[r.Name] {
			chosen = append(chosen, r)
		}
	}
	recorded := &recorder{seen: map[string]bool{}}
	cfg.Wrap(recorded.wrap)
	if err := exchange.Ask(ctx, cfg, chosen); err != nil {
		return err
	}
	if err := exchange.Ask(ctx, cfg, fromStories); err != nil {
		return err
	}
	slices.Sort(recorded.lines) // groups are played side by side
	return os.WriteFile(file, []byte(strings.Join(recorded.lines, "\n")+"\n"), 0o644)
}

// mistakesOf are the kinds whose mistakes are seeds. Those of other kinds differ by the kind alone.
var mistakesOf = map[string]bool{"v1 pods": true, "apps/v1 deployments": true}

// lives are the requests in the life of an object whose bodies differ from kind to kind.
var lives = map[string]bool{"create": true, "the other stub": true, "patch status": true, "scale": true}

// recorder records the requests that go through it, each kind once.
type recorder struct {
	mu    sync.Mutex
	seen  map[string]bool
	lines []string
}

func (r *recorder) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		var body []byte
		if req.Body != nil {
			var err error
			if body, err = io.ReadAll(req.Body); err != nil {
				return nil, err
			}
			req.Body = io.NopCloser(bytes.NewReader(body))
		}
		r.record(req, body)
		return next.RoundTrip(req)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A namespace of the stories and the resources: all seeds have the namespace default.
var played = regexp.MustCompile(`wire(-[a-z0-9-]+)?([/"?]|$)`)

// What two requests may differ in without making a server decode anything else: the kind, and what
// servers make.
var (
	ofKind     = regexp.MustCompile(`^/(?:api/v1|apis/[^/?]+/[^/?]+)(?:/namespaces/[^/?]+)?/[^/?]+`)
	numbers    = regexp.MustCompile(`\d{3,}`)
	serverMade = regexp.MustCompile(`"(uid|resourceVersion|creationTimestamp|time|apiVersion|kind|selfLink)":"[^"]*"`)
)

// record records a request, unless an earlier one was of the same kind.
func (r *recorder) record(req *http.Request, body []byte) {
	seed := struct {
		Method, Target      string
		Accept, ContentType string `json:",omitempty"`
		Body                string `json:",omitempty"`
		Binary              []byte `json:",omitempty"` // a body that is not text
	}{Method: req.Method, Target: played.ReplaceAllString(req.URL.RequestURI(), "default$2"), Accept: req.Header.Get("Accept"), ContentType: req.Header.Get("Content-Type")}
	if utf8.Valid(body) {
		seed.Body = played.ReplaceAllString(string(body), "default$2")
	} else {
		seed.Binary = body
	}
	var line bytes.Buffer
	lines := json.NewEncoder(&line)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(seed); err != nil {
		panic(err) // it is strings and bytes
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	target := numbers.ReplaceAllString(ofKind.ReplaceAllString(seed.Target, ""), "0")
	kind := strings.Join([]string{seed.Method, target, seed.ContentType, serverMade.ReplaceAllString(seed.Body, ""), string(seed.Binary)}, "\n")
	if !r.seen[kind] {
		r.seen[kind] = true
		r.lines = append(r.lines, strings.TrimSuffix(line.String(), "\n"))
	}
}
