package clientgo

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// remoteAddr is the address of the client that the handler sees.
const remoteAddr = "in-process"

// serverRequest returns the client's request as the server of net/http would give it to a
// handler.
func serverRequest(ctx context.Context, x *exchange) *http.Request {
	c := x.client
	r := &http.Request{
		Method:        c.Method,
		URL:           serverURL(c.URL),
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        wireHeader(c.Header),
		Body:          http.NoBody,
		ContentLength: c.ContentLength,
		Host:          c.Host,
		RemoteAddr:    remoteAddr,
		RequestURI:    c.URL.RequestURI(),
	}
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	if r.Host == "" {
		r.Host = c.URL.Host
	}
	x.setBody(r)

	// http.Transport ignores these headers of a client and sends its own.
	for _, name := range []string{"Host", "Content-Length", "Transfer-Encoding", "Trailer"} {
		delete(r.Header, name)
	}
	if r.ContentLength > 0 || r.ContentLength == 0 && sendsLengthZero(r.Method) {
		r.Header["Content-Length"] = []string{strconv.FormatInt(r.ContentLength, 10)}
	}
	if agent, set := r.Header["User-Agent"]; !set {
		r.Header["User-Agent"] = []string{"Go-http-client/1.1"} // as http.Transport sets it
	} else if agent[0] == "" {
		delete(r.Header, "User-Agent")
	}
	return r.WithContext(ctx)
}

func sendsLengthZero(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

// serverURL returns u as it is parsed from a request line: a path and a query.
func serverURL(u *url.URL) *url.URL {
	if u.Opaque != "" || u.RawPath != "" {
		// RawPath may be wrong; parsing decides.
		if parsed, err := url.ParseRequestURI(u.RequestURI()); err == nil {
			return parsed
		}
	}
	path := u.Path
	if path == "" {
		path = "/"
	}
	return &url.URL{Path: path, RawQuery: u.RawQuery, ForceQuery: u.ForceQuery}
}

// setBody sets the body of r to that of the client's request.
func (x *exchange) setBody(r *http.Request) {
	body := x.client.Body
	if body == nil || body == http.NoBody {
		r.ContentLength = 0
		x.requestClosed = body == nil
		return
	}
	if r.ContentLength <= 0 { // zero with a body means unknown
		r.ContentLength = -1
		r.TransferEncoding = []string{"chunked"}
	}
	r.Body = &requestBody{x: x, body: body, declared: r.ContentLength}
}

// requestBody reads the client's body on the handler's goroutine. The body is closed when the handler closes
// it, when the handler has returned, and when the exchange is aborted. An abort also ends a read in which the
// handler is blocked.
type requestBody struct {
	x        *exchange
	body     io.Reader
	declared int64 // -1 if unknown
	read     int64
	eof      bool
}

func (b *requestBody) Read(p []byte) (int, error) {
	if err := b.x.requestReadable(); err != nil {
		return 0, err
	}
	if b.eof {
		return 0, io.EOF
	}
	if b.declared >= 0 {
		p = p[:min(int64(len(p)), b.declared-b.read)]
	}
	n, err := b.body.Read(p)
	b.read += int64(n)
	switch {
	case b.read == b.declared:
		b.eof = true
	case err == io.EOF && b.declared < 0:
		b.eof = true
	case err == io.EOF:
		err = fmt.Errorf("http: ContentLength=%d with Body length %d", b.declared, b.read) // net/http's words
		fallthrough
	case err != nil:
		if err := b.x.requestReadable(); err != nil {
			return n, err // it has been closed during the read
		}
		// The client's reader failed. The client gets its error. The handler sees what a
		// server sees whose peer stops in the middle of a body.
		b.x.abort(err)
		return n, io.ErrUnexpectedEOF
	}
	if b.eof {
		return n, io.EOF
	}
	return n, nil
}

func (b *requestBody) Close() error {
	b.x.closeRequestBody()
	return nil
}

func (x *exchange) requestReadable() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.failed != nil:
		return io.ErrUnexpectedEOF
	case x.requestClosed:
		return http.ErrBodyReadAfterClose
	}
	return nil
}

// closeRequestBody closes the client's body, once.
func (x *exchange) closeRequestBody() {
	x.mu.Lock()
	closed := x.requestClosed
	x.requestClosed = true
	x.mu.Unlock()
	if !closed {
		closeBody(x.client)
	}
}
