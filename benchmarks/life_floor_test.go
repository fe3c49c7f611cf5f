package benchmarks

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"k8s.io/client-go/dynamic"

	"github.com/fakecluster/fakecluster/clientgo"
)

// answer is what the cluster answered to a request.
type answer struct {
	code        int
	contentType string
	body        []byte
}

// floor is a handler that returns ready bytes: those that the cluster returned to the
// last request with the same method, when the answers were recorded.
type floor struct {
	mu      sync.Mutex
	answers map[string]answer // by method
	watcher chan struct{}     // receives each patch, if there is a watch
}

// record lets requests pass, and keeps the answers to them.
func (f *floor) record(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil || r.URL.Query().Has("watch") {
			return resp, err
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return nil, err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.answers[r.Method] = answer{resp.StatusCode, resp.Header.Get("Content-Type"), body}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		return resp, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (f *floor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if r.URL.Query().Has("watch") {
		f.watch(w, r)
		return
	}
	f.mu.Lock()
	answer, recorded := f.answers[r.Method]
	watcher := f.watcher
	f.mu.Unlock()
	if !recorded {
		http.Error(w, fmt.Sprintf("the cluster was sent no %s", r.Method), http.StatusInternalServerError)
		return
	}
	if watcher != nil && r.Method == http.MethodPatch {
		watcher <- struct{}{}
	}
	w.Header().Set("Content-Type", answer.contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(answer.body)))
	w.WriteHeader(answer.code)
	_, _ = w.Write(answer.body)
}

// watch sends the answer to a patch as an event, once for each patch.
func (f *floor) watch(w http.ResponseWriter, r *http.Request) {
	watcher := make(chan struct{}, 1)
	f.mu.Lock()
	f.watcher = watcher
	event := `{"type":"MODIFIED","object":` + string(bytes.TrimSpace(f.answers[http.MethodPatch].body)) + "}\n"
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	for w.(http.Flusher).Flush(); ; w.(http.Flusher).Flush() {
		select {
		case <-watcher:
			_, _ = io.WriteString(w, event)
		case <-r.Context().Done():
			return
		}
	}
}

// client reaches the floor as the cluster's clients reach the cluster: over HTTP, or
// in process.
func (f *floor) client(t testing.TB, inProcess bool) dynamic.Interface {
	access := clientgo.Access{Token: "floor"}
	if inProcess {
		transport := clientgo.InProcess(f)
		t.Cleanup(func() { _ = transport.Close() })
		access.Transport = transport
	} else {
		server := httptest.NewServer(f)
		transport := &http.Transport{}
		t.Cleanup(func() {
			transport.CloseIdleConnections()
			server.CloseClientConnections()
			server.Close()
		})
		access.URL, access.Transport = server.URL, transport
	}
	clients, err := clientgo.NewClients(access.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return clients.Dynamic
}
