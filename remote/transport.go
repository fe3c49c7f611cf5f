package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	bubbles "github.com/fakecluster/fakecluster/remote/internal/bubble"
	"github.com/fakecluster/fakecluster/remote/internal/callers"
)

// Transport returns an http.RoundTripper for clients of the cluster. In a testing/synctest bubble every client needs it, because
// one with a socket of its own stops the time of the bubble:
//
//	cfg := &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}
//
// Requests need the token, as with any other transport. Outside of bubbles it has connections of its own,
// which end with the cluster; with [TLS] it trusts the certificate. A request that upgrades its connection works, in a bubble only in a cluster
// with [Workloads], and not in a controller of an exploration. The executors and dialers of client-go connect by themselves, unless they are made with this transport as the UpgradeTransport of
// spdy.NewRoundTripperWithConfig.
func (c *Cluster) Transport() http.RoundTripper { return &transport{c} }

// outerTransport returns the transport of a cluster outside of bubbles.
func (c *Cluster) outerTransport() *http.Transport {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outer != nil {
		return c.outer
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	if ca := pem(c.description.CertificateAuthority); ca != nil {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(ca)
		t.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	c.outer = t
	return t
}

// closeIdle closes the connections of the transport that no request uses.
func (c *Cluster) closeIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outer != nil {
		c.outer.CloseIdleConnections()
	}
}

// transport sends requests to a cluster.
type transport struct{ cluster *Cluster }

// CloseIdleConnections is called by http.Client and client-go.
func (t *transport) CloseIdleConnections() {
	if t.cluster.bubble == nil && !bubbles.Inside() {
		t.cluster.closeIdle()
	}
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c := t.cluster
	if err := c.checkPlace(); err != nil {
		closeBody(req)
		c.misuse(err)
		return nil, fmt.Errorf("fakecluster: %w", err)
	}
	if c.bubble == nil {
		return c.outerTransport().RoundTrip(req)
	}
	if err := checkRequest(req); err != nil {
		closeBody(req)
		return nil, err
	}
	if c.bubble.trial != nil && req.Method != http.MethodGet {
		req = req.Clone(req.Context())
		req.Header.Set(callerHeader, callers.Line(callers.Current()))
	}
	send := func() (*http.Response, error) { return c.bubble.roundTrip(c.description.Cluster, req) }
	if req.Header.Get("Upgrade") != "" {
		send = func() (*http.Response, error) { return c.upgrade(req) }
	}
	answer, err := send()
	if err != nil {
		return nil, failure(req.Context(), err)
	}
	return answer, nil
}

// checkRequest returns an error, in net/http's words, for a request that http.Transport does not send.
func checkRequest(req *http.Request) error {
	switch {
	case req.URL == nil:
		return errors.New("http: nil Request.URL")
	case req.Header == nil:
		return errors.New("http: nil Request.Header")
	case req.URL.Host == "":
		return errors.New("http: no Host in request URL")
	}
	return nil
}

// failure returns the error of a request. Clients compare the end of the connection and that of the context with what net/http
// returns, so these two stay as they are.
func failure(ctx context.Context, err error) error {
	if err == io.ErrUnexpectedEOF || ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return fmt.Errorf("fakecluster: %w", err)
}

// WrappedRoundTripper returns a transport that connects to the cluster. Clients that upgrade connections, such as those of package
// k8s.io/apimachinery/pkg/util/httpstream/spdy, use its dialer.
func (t *transport) WrappedRoundTripper() http.RoundTripper {
	return &http.Transport{DialContext: t.cluster.Dial, TLSClientConfig: t.cluster.outerTransport().TLSClientConfig}
}

// callerHeader has the line of code that sends a write in a trial of an exploration.
const callerHeader = "Fakecluster-Caller"

// misuse fails the test of the cluster once, because controllers only log the errors of their requests. A test that has
// ended can no longer fail.
func (c *Cluster) misuse(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.test == nil || c.closed {
		return
	}
	c.misused.Do(func() { c.test.Errorf("fakecluster: %v", err) })
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// patientKey marks the context of a request of a container, or for its streams. Nobody waits for the answer, so the
// pump may take large steps meanwhile.
type patientKey struct{}

func withoutHurry(ctx context.Context) context.Context {
	return context.WithValue(ctx, patientKey{}, true)
}

func isPatient(ctx context.Context) bool { return ctx.Value(patientKey{}) != nil }

// roundTrip sends a request to a cluster of the bubble.
func (b *bubble) roundTrip(cluster string, req *http.Request) (*http.Response, error) {
	defer closeBody(req)
	ctx := req.Context()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	method := req.Method
	if method == "" {
		method = http.MethodGet
	}
	header := req.Header
	if header.Get("User-Agent") == "" {
		header = header.Clone()
		header.Set("User-Agent", "Go-http-client/1.1")
	}
	work := method != http.MethodGet && !strings.Contains(req.URL.Path, "/leases/")
	if !strings.Contains(req.URL.RawQuery, "watch=") && !strings.Contains(req.URL.Path, "/leases/") {
		b.watched.work.Add(1)
	}
	x, err := b.begin(cluster, method, req.URL.RequestURI(), host, header, body, isPatient(ctx))
	if err != nil {
		return nil, err
	}
	if work || !x.answered.Load() {
		b.wake()
	}
	for {
		x.mu.Lock()
		status, ended, failed := x.status, x.ended, x.err
		x.mu.Unlock()
		switch {
		case status != 0:
			return x.response(req), nil
		case ended:
			return nil, failed
		}
		select {
		case <-x.changed:
		case <-ctx.Done():
			b.cancel(x)
			return nil, context.Cause(ctx)
		}
	}
}

// response returns the answer, whose header has arrived.
func (x *exchange) response(req *http.Request) *http.Response {
	length := int64(-1)
	if n, err := strconv.ParseInt(x.header.Get("Content-Length"), 10, 64); err == nil {
		length = n
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", x.status, http.StatusText(x.status)), StatusCode: x.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: x.header, ContentLength: length, Request: req, Body: &body{exchange: x, ctx: req.Context()},
	}
}

// body is the body of an answer.
type body struct {
	exchange *exchange
	ctx      context.Context
	closed   bool
}

var errClosedBody = errors.New("http: read on closed response body") // net/http's words

// Read implements io.Reader.
func (r *body) Read(p []byte) (int, error) {
	x := r.exchange
	for {
		n, err := r.next(p)
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
		select {
		case <-x.changed:
		case <-r.ctx.Done():
			x.bubble.cancel(x)
			return 0, context.Cause(r.ctx)
		}
	}
}

// next reads data that has arrived. It returns 0 if there is none yet.
func (r *body) next(p []byte) (int, error) {
	x := r.exchange
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case r.closed:
		return 0, errClosedBody
	case len(x.data) > 0:
		n := copy(p, x.data[0])
		if x.data[0] = x.data[0][n:]; len(x.data[0]) == 0 {
			x.data = x.data[1:]
		}
		return n, nil
	case x.ended && x.err != nil:
		return 0, failure(r.ctx, x.err)
	case x.ended:
		return 0, io.EOF
	}
	return 0, nil
}

// Close implements io.Closer. It ends a watch.
func (r *body) Close() error {
	x := r.exchange
	x.mu.Lock()
	open := !r.closed && !x.ended
	r.closed = true
	x.mu.Unlock()
	if open {
		x.bubble.cancel(x)
	}
	x.change(func() { x.ended = true }) // a reader that waits ends
	return nil
}
