package clientgo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"sync"
)

const (
	// heldBack is how many bytes a handler may write before the header of its answer is sent without a
	// Content-Length. It is the same as in net/http.
	heldBack = 2 << 10
	// bufferLimit is how many bytes a handler may be ahead of its client.
	bufferLimit = 64 << 10
	// lentAtOnce is the size from which a Write is not copied into the buffer, even if
	// there is room: waking the handler once more is cheaper than the copy.
	lentAtOnce = 16 << 10
)

var (
	errClientGone     = errors.New("clientgo: the client has gone away")
	errReadOnClosed   = errors.New("http: read on closed response body") // the text of net/http
	errHandlerExited  = errors.New("clientgo: the goroutine of the handler exited by runtime.Goexit: do not call t.FailNow or t.Fatal in a handler")
	errAfterTheAnswer = errors.New("clientgo: write after the handler returned")
)

// exchange is one request and its answer. The goroutine that serves it writes through
// responseWriter, and the client reads through responseBody.
type exchange struct {
	transport *Transport
	client    *http.Request
	// request is the request of the client as a server receives it.
	request *http.Request
	// cancel ends the context of request.
	cancel context.CancelFunc
	// unwatch stops watching the client's context.
	unwatch func() bool
	// header is the header that the handler fills. Only the handler uses it.
	header http.Header

	mu sync.Mutex
	// changed wakes the client when there is something to take, and the handler when
	// there is room again.
	changed sync.Cond

	// The answer's header. status is 0 until the handler has set it, which also
	// fixes sent, and length, the Content-Length or -1. All three are final once
	// released.
	status   int
	sent     http.Header
	length   int64
	released bool
	// untyped is set if the handler set a Content-Type without a value, so that none is
	// guessed.
	untyped bool

	// The part of the answer's body that has not been read: first buffered, then lent. lent is the rest of a
	// Write that is not copied into the buffer; that Write waits until the client has read it.
	buffered bytes.Buffer
	lent     []byte
	written  int64

	// returned is set when the handler has returned. failed is the error that reads return in place of
	// io.EOF, after the buffered bytes. Both are set once.
	returned bool
	failed   error
	// bodyClosed is set when the client has closed the body of the response.
	bodyClosed bool
	// requestClosed is set when the client's request body has been closed: by the handler
	// if there is no failure.
	requestClosed bool
}

func newExchange(t *Transport, req *http.Request) *exchange {
	x := &exchange{transport: t, client: req, header: make(http.Header), length: -1}
	x.changed.L = &x.mu
	ctx, cancel := context.WithCancel(context.Background())
	x.cancel = cancel
	x.request = serverRequest(ctx, x)
	if ctx := req.Context(); ctx.Done() != nil {
		x.unwatch = context.AfterFunc(ctx, func() { x.abort(context.Cause(ctx)) })
	}
	return x
}

// serve runs the handler, on the exchange's own goroutine.
func (x *exchange) serve() {
	growStack()
	pprof.SetGoroutineLabels(context.Background()) // goroutines of the handler do not get the labels of the client, as with a socket
	defer x.transport.remove(x)
	normal := false
	defer func() {
		var failure error
		if !normal {
			failure = x.failure(recover())
		}
		if x.unwatch != nil {
			// The client's context may outlive this request by far.
			x.unwatch()
		}
		x.cancel()
		x.closeRequestBody()
		if form := x.request.MultipartForm; form != nil {
			form.RemoveAll()
		}
		x.finish(failure)
	}()
	x.transport.handler.ServeHTTP(responseWriter{x}, x.request)
	normal = true
}

// growStack grows the stack of a new goroutine to the size that a handler needs, while the stack is nearly
// empty. Otherwise the runtime doubles it several times deep in the handler, and copies the whole stack each
// time.
//
//go:noinline
func growStack() {
	var room [16 << 10]byte
	runtime.KeepAlive(&room)
}

// failure returns the client's error for a handler that panicked with v, or that exited its goroutine if v is
// nil. As in net/http, a panic is logged unless it is http.ErrAbortHandler.
func (x *exchange) failure(v any) error {
	switch v {
	case nil:
		return errHandlerExited
	case http.ErrAbortHandler:
		return io.ErrUnexpectedEOF
	}
	log.Printf("clientgo: panic serving %s %s: %v\n%s", x.request.Method, x.request.RequestURI, v, debug.Stack())
	// client-go repeats a request that fails with a bare unexpected EOF. Repeating a
	// panic does not help.
	return fmt.Errorf("clientgo: handler panicked serving %s %s: %v", x.request.Method, x.request.RequestURI, v)
}

// finish completes the answer of a handler that has returned.
func (x *exchange) finish(failure error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.returned = true
	if x.failed == nil {
		x.failed = failure
	}
	if x.failed == nil {
		if x.status == 0 {
			x.setHeader(http.StatusOK)
		}
		x.release(nil)
		if x.length > x.written && x.hasBody() {
			x.failed = io.ErrUnexpectedEOF
		}
	}
	x.changed.Broadcast()
}

// abort ends the exchange, for the client or for Close. It drops the bytes that the client has not read, and
// cancels the context of the handler.
func (x *exchange) abort(err error) {
	x.mu.Lock()
	if x.failed == nil {
		x.failed = err
	}
	x.drop()
	x.changed.Broadcast()
	x.mu.Unlock()

	x.cancel()
	x.closeRequestBody()
}

// drop drops the bytes that have not been read. x.mu is held.
func (x *exchange) drop() {
	x.buffered = bytes.Buffer{}
	x.lent = nil
}

// response waits for the header.
func (x *exchange) response() (*http.Response, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for !x.released {
		if x.failed != nil {
			return nil, x.failed
		}
		x.changed.Wait()
	}
	var body io.ReadCloser = http.NoBody
	if x.hasBody() {
		body = responseBody{x}
	}
	return &http.Response{
		Status:        statusLine(x.status),
		StatusCode:    x.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        x.sent,
		ContentLength: x.length,
		Body:          body,
		Request:       x.client,
	}, nil
}

func statusLine(code int) string {
	if code == http.StatusOK {
		return "200 OK"
	}
	text := http.StatusText(code)
	if text == "" {
		text = "status code " + strconv.Itoa(code)
	}
	return strconv.Itoa(code) + " " + text
}

// responseBody is the client's end of an exchange.
type responseBody struct{ x *exchange }

func (b responseBody) Read(p []byte) (int, error) {
	x := b.x
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		if x.bodyClosed {
			return 0, errReadOnClosed
		}
		empty := x.empty()
		if empty && x.failed == ErrClosed {
			// The stream is cut off in the middle. For the client of a watch this is
			// its end, as when a server goes down.
			return 0, io.ErrUnexpectedEOF
		}
		if empty && x.failed != nil {
			return 0, x.failed
		}
		if empty && x.complete() {
			return 0, io.EOF
		}
		// After the handler has returned, nothing watches the context. Before that, a
		// client that cancels and then reads should not depend on who was first.
		if ctx := x.client.Context(); ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if len(p) == 0 {
			return 0, nil
		}
		if !empty {
			return x.take(p), nil
		}
		x.changed.Wait()
	}
}

// empty reports whether the client has read everything that has come so far. x.mu is held.
func (x *exchange) empty() bool { return x.buffered.Len() == 0 && len(x.lent) == 0 }

// complete reports whether nothing can follow: the handler has returned or has
// written as much as it announced. x.mu is held.
func (x *exchange) complete() bool {
	return x.returned || x.length >= 0 && x.written >= x.length
}

// take moves unread bytes into p. x.mu is held.
func (x *exchange) take(p []byte) int {
	n, _ := x.buffered.Read(p)
	if len(x.lent) > 0 && n < len(p) {
		m := copy(p[n:], x.lent)
		n += m
		if x.lent = x.lent[m:]; len(x.lent) == 0 {
			x.changed.Broadcast()
		}
	}
	return n
}

// Close cancels the context of a handler that has not returned. It does not wait for
// the handler.
func (b responseBody) Close() error {
	x := b.x
	x.mu.Lock()
	x.bodyClosed = true
	done := x.returned || x.complete() && x.empty()
	if done {
		x.drop()
	}
	x.mu.Unlock()
	if !done {
		x.abort(errClientGone)
	}
	return nil
}
