package clientgo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/net/http/httpguts"
)

// ErrClosed is the error of a request to a Transport that has been closed, or that is closed
// before the header of the answer has arrived. If it is closed later, the body of the answer
// ends with io.ErrUnexpectedEOF, as when a server closes the connection.
var ErrClosed = errors.New("clientgo: the in-process transport is closed")

// Transport is an http.RoundTripper that calls a handler in this process. The package documentation describes
// how it streams. It is safe for concurrent use.
type Transport struct {
	handler http.Handler

	mu      sync.Mutex
	running map[*exchange]struct{}
	closed  bool
	// drained is made by the first Close that has to wait, in its bubble. The last
	// handler that returns closes it.
	drained chan struct{}
}

// InProcess returns a transport that calls h for each request. Several goroutines call h at the same time.
// Close the transport when it is no longer used.
func InProcess(h http.Handler) *Transport {
	return &Transport{handler: h, running: make(map[*exchange]struct{})}
}

// RoundTrip calls the handler with the request, on a goroutine of its own, and returns when the handler has
// sent the header of the answer. The host of the URL becomes the Host of the handler's request; the scheme is
// ignored. It fails for a request that http.Transport would not send, with [ErrClosed] after Close, with the
// cause of the request's context if that ends, and if the handler panics.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := checkRequest(req); err != nil {
		closeBody(req)
		return nil, err
	}
	x := newExchange(t, req)
	if !t.add(x) {
		x.abort(ErrClosed)
		return nil, ErrClosed
	}
	go x.serve()
	return x.response()
}

// Close ends every exchange that is still running: it cancels the contexts of the handlers, and
// their clients get ErrClosed. It returns when all handlers have returned, so a handler must not
// call it. A handler that ignores its context delays it, and so does a request body whose Read
// ignores Close. Later requests fail with ErrClosed. An answer that was complete before Close
// can still be read. Close always returns nil.
func (t *Transport) Close() error {
	t.mu.Lock()
	t.closed = true
	interrupted := slices.Collect(maps.Keys(t.running))
	if len(t.running) > 0 && t.drained == nil {
		t.drained = make(chan struct{})
	}
	drained := t.drained
	t.mu.Unlock()

	for _, x := range interrupted {
		x.abort(ErrClosed)
	}
	if drained != nil {
		<-drained
	}
	return nil
}

// CloseIdleConnections does nothing, because there are no connections. client-go and http.Client
// call it.
func (t *Transport) CloseIdleConnections() {}

func (t *Transport) add(x *exchange) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.running[x] = struct{}{}
	return true
}

func (t *Transport) remove(x *exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, x)
	if t.drained != nil && len(t.running) == 0 {
		// After Close no exchange is added, so this happens once.
		close(t.drained)
	}
}

// checkRequest returns an error for a request that http.Transport does not send.
func checkRequest(req *http.Request) error {
	if req.URL == nil {
		return errors.New("clientgo: nil Request.URL")
	}
	if req.Header == nil {
		return errors.New("clientgo: nil Request.Header")
	}
	if req.URL.Host == "" && req.Host == "" {
		return errors.New("clientgo: no Host in request URL")
	}
	if req.Method != "" && !httpguts.ValidHeaderFieldName(req.Method) { // both are an RFC 9110 token
		return fmt.Errorf("clientgo: invalid method %q", req.Method)
	}
	for name, values := range req.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("clientgo: invalid header field name %q", name)
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return fmt.Errorf("clientgo: invalid header field value for %q", name) // without the value, which may be a secret
			}
		}
	}
	if req.Context().Err() != nil {
		return context.Cause(req.Context())
	}
	return nil
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}
