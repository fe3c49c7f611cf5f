// Package exchange makes the same requests of two servers, one after the other, and compares the
// answers byte by byte.
package exchange

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Request is a request that both servers get.
type Request struct {
	// Group is what it belongs to, such as a resource.
	Group string
	// Sequence is what groups have in common that never run at the same time, because their objects are seen in each other's lists; empty: it
	// is the group alone.
	Sequence string
	// Name says what it is about. It is unique within its group.
	Name string
	// Method and Path, with its query.
	Method, Path string
	// Header has what is not usual, which is Accept and Content-Type: application/json.
	Header map[string]string
	// Body is sent as it is. With From, the body is the object that the request of the same group with
	// that name was answered with, changed: by Edit, or else as the merge patch in Body says.
	Body string
	From string
	Edit func(object map[string]any)
	// Until repeats the request until its answer has this status, for no longer than ten seconds, and
	// Wait waits after it: the real server does some things later, such as begin to serve a definition.
	Until int
	Wait  time.Duration
	// Anonymous leaves out the certificate of the administrator.
	Anonymous bool
	// Needed says that other requests need what this one makes: its group comes before all others.
	Needed bool
	// Whole says that the requests of the group are made if one of them is chosen.
	Whole bool
	// Unordered says that a server may name several mistakes, or resources of a group, in any order.
	Unordered bool
}

// String returns the group and the name. In lists of results two spaces and # begin the reason, and a name
// must not: the JSON patch "[ ]  # x" would end there. So one of the spaces is left out.
func (r Request) String() string { return r.Group + ": " + strings.ReplaceAll(r.Name, "  #", " #") }

// answer is what a server said.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

// server is one of the two. It is safe for concurrent use.
type server struct {
	base *url.URL
	http *http.Client // as the administrator
	bare *http.Client // as nobody
	mu   sync.Mutex
	last map[string][]byte // the bodies of the answers, by group and name
}

// newServer returns a server whose requests are sent with cfg.
func newServer(cfg *rest.Config) (*server, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	bare, err := rest.HTTPClientFor(rest.AnonymousClientConfig(cfg))
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	return &server{base: base, http: client, bare: bare, last: map[string][]byte{}}, nil
}

// patience is how long Until repeats a request, and pause how long it waits in between.
const (
	patience = 10 * time.Second
	pause    = 100 * time.Millisecond
)

// ask makes a request, and remembers the answer for those that refer to it.
func (s *server) ask(ctx context.Context, r Request) (answer, error) {
	path, body, err := s.fill(r)
	if err != nil {
		return answer{}, err
	}
	end := time.Now().Add(patience)
	got, err := s.once(ctx, r, path, body)
	for err == nil && r.Until != 0 && got.code != r.Until && time.Now().Before(end) {
		time.Sleep(pause)
		got, err = s.once(ctx, r, path, body)
	}
	s.mu.Lock()
	s.last[r.Group+" "+r.Name] = got.body
	s.mu.Unlock()
	if r.Wait > 0 {
		time.Sleep(r.Wait) // the real server does not report when it is done
	}
	return got, err
}

// reference is a value of an earlier answer: ${get:metadata.uid}.
var reference = regexp.MustCompile(`\$\{([^:}]+):([^}]+)\}`)

// fill returns the path and the body of a request, with what they take from earlier answers.
func (s *server) fill(r Request) (path string, body []byte, err error) {
	answered := func(name string) []byte {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.last[r.Group+" "+name]
	}
	replace := func(text string) string {
		return reference.ReplaceAllStringFunc(text, func(found string) string {
			parts := reference.FindStringSubmatch(found)
			return valueAt(answered(parts[1]), parts[2])
		})
	}
	path, body = replace(r.Path), []byte(replace(r.Body))
	if r.From == "" {
		return path, body, nil
	}
	edit := r.Edit
	if edit == nil {
		change := map[string]any{}
		if err := json.Unmarshal(body, &change); err != nil && len(body) > 0 {
			return "", nil, err
		}
		edit = func(object map[string]any) { merge(object, change) }
	}
	if body, err = edited(answered(r.From), edit); err != nil {
		return "", nil, fmt.Errorf("the answer to %s: %w", r.From, err)
	}
	return path, body, nil
}

// once makes a request one time.
func (s *server) once(ctx context.Context, r Request, path string, body []byte) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var content io.Reader
	if len(body) > 0 {
		content = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, strings.TrimSuffix(s.base.String(), "/")+path, content)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("User-Agent", "wire")
	request.Header.Set("Accept", "application/json")
	if content != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.Header {
		request.Header.Set(name, value)
	}
	client := s.http
	if r.Anonymous {
		client = s.bare
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	got := answer{code: response.StatusCode, header: response.Header}
	got.body, err = io.ReadAll(response.Body)
	return got, err
}
