// Package exchange makes the same requests of two servers, one after the other, and compares the
// answers byte by byte.
package exchange

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Request is a request that both servers get.
type Request struct {
	// Group is what it belongs to, such as a resource.
	Group string
	// Name says what it is about. It is unique within its group.
	Name string
	// Method and Path, with its query.
	Method, Path string
	// Header has what is not usual, which is Accept and Content-Type: application/json.
	Header map[string]string
	// Body is sent as it is. Edit, if there is one, makes the body from the object that the request of
	// the same group named From was answered with.
	Body string
	From string
	Edit func(object map[string]any)
	// Wait lets the server do what it does later, such as begin to serve a definition.
	Wait time.Duration
	// Needed says that other requests need what this one makes.
	Needed bool
}

// String returns the group and the name.
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
	http *http.Client
	mu   sync.Mutex
	last map[string][]byte // the bodies of the answers, by group and name
}

// newServer returns a server that is asked as cfg says.
func newServer(cfg *rest.Config) (*server, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	return &server{base: base, http: client, last: map[string][]byte{}}, nil
}

// ask makes a request.
func (s *server) ask(ctx context.Context, r Request) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	body := []byte(r.Body)
	if r.Edit != nil {
		var err error
		s.mu.Lock()
		last := s.last[r.Group+" "+r.From]
		s.mu.Unlock()
		if body, err = edited(last, r.Edit); err != nil {
			return answer{}, fmt.Errorf("the answer to %s: %w", r.From, err)
		}
	}
	var content io.Reader
	if len(body) > 0 {
		content = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, strings.TrimSuffix(s.base.String(), "/")+r.Path, content)
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
	response, err := s.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	got := answer{code: response.StatusCode, header: response.Header}
	got.body, err = io.ReadAll(response.Body)
	s.mu.Lock()
	s.last[r.Group+" "+r.Name] = got.body
	s.mu.Unlock()
	if r.Wait > 0 {
		time.Sleep(r.Wait) // the real server tells nobody when it is done
	}
	return got, err
}
