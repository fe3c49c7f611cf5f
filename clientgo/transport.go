package clientgo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"golang.org/x/net/http/httpguts"
)

// ErrClosed is what a request gets from a Transport that has been closed, or that
// is closed before its answer has a header. Afterwards the answer's body ends with
// io.ErrUnexpectedEOF, like a connection that a server closes.
var ErrClosed = errors.New("clientgo: the in-process transport is closed")

// Transport is an http.RoundTripper that calls a handler in this process. The
// package documentation says how it streams. Any number of goroutines may use it.
type Transport struct {
	handler http.Handler

	mu      sync.Mutex
	running map[*exchange]struct{}
	closed  bool
	// drained is made by the first Close that has to wait (in its bubble), and
	// closed by the last handler to return.
	drained chan struct{}
}

// InProcess returns a transport whose requests are served by h.
func InProcess(h http.Handler) *Transport {
	return &Transport{handler: h, running: make(map[*exchange]struct{})}
}

// RoundTrip has the handler serve the request and returns when the header of its
// answer has left. The scheme of the URL is ignored; its host is what the handler
// sees as the request's Host.
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

// Close ends every exchange that is still running: the handlers' contexts are
// cancelled, and their clients get ErrClosed. It returns when all handlers have
// returned, so a handler that ignores its context (or whose client sent a body
// that ignores being closed) holds it up, and it must not be called by a handler.
// Later requests fail with ErrClosed. An answer that was complete before Close can
// still be read. Close always returns nil.
func (t *Transport) Close() error {
	t.mu.Lock()
	t.closed = true
	interrupted := make([]*exchange, 0, len(t.running))
	for x := range t.running {
		interrupted = append(interrupted, x)
	}
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

// CloseIdleConnections does nothing: there are no connections. client-go and
// http.Client look for it.
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
		// No exchange is added after Close, so this happens once.
		close(t.drained)
	}
}

// checkRequest refuses what http.Transport refuses to send.
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
				return fmt.Errorf("clientgo: invalid header field value for %q", name) // which may be a secret
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
