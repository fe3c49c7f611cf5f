package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	bubbles "github.com/fakecluster/fakecluster/remote/internal/bubble"
)

// callable is a handler of this process that clusters call. Its exported fields are a part of the request
// that starts a cluster.
type callable struct {
	handler  http.Handler
	lasting  bool   // calls are containers and their programs, whose end nobody waits for
	Function uint64 `json:"function"`
	URL      string `json:"url,omitempty"` // for clusters outside of bubbles
}

// callables has the handlers of the process. A handler is removed when the last cluster that may call it has
// ended.
var callables = struct {
	sync.Mutex
	last     uint64
	handlers map[uint64]*registered
	server   *http.Server // for clusters outside of bubbles; nil: there are no handlers
	url      string
}{handlers: map[uint64]*registered{}}

// registered is a handler and the number of clusters that may call it.
type registered struct {
	handler  http.Handler
	lasting  bool
	clusters int
}

// isNilHandler reports whether a handler is nil, or a nil pointer or function. The mux of a
// controller-runtime manager without webhooks is a nil pointer.
func isNilHandler(h http.Handler) bool {
	v := reflect.ValueOf(h)
	return h == nil || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil()
}

// register adds handlers that the cluster may call.
func (c *Cluster) register(handlers []*callable) error {
	if len(handlers) == 0 {
		return nil
	}
	outside := !bubbles.Inside()
	callables.Lock()
	defer callables.Unlock()
	if outside && callables.server == nil {
		if err := serveCallables(); err != nil {
			return err
		}
	}
	for _, h := range handlers {
		callables.last++
		h.Function = callables.last
		callables.handlers[h.Function] = &registered{h.handler, h.lasting, 1}
		if outside {
			h.URL = fmt.Sprintf("%s/%d", callables.url, h.Function)
		}
		c.mu.Lock()
		c.callables = append(c.callables, h.Function)
		c.mu.Unlock()
	}
	return nil
}

// share lets a fork call the handlers of its origin.
func (c *Cluster) share(fork *Cluster) {
	c.mu.Lock()
	numbers := append([]uint64(nil), c.callables...)
	c.mu.Unlock()
	callables.Lock()
	defer callables.Unlock()
	for _, n := range numbers {
		if h := callables.handlers[n]; h != nil {
			h.clusters++
			fork.callables = append(fork.callables, n)
		}
	}
}

// unregister releases all handlers of a cluster that has ended.
func (c *Cluster) unregister() {
	c.mu.Lock()
	numbers := c.callables
	c.callables = nil
	c.mu.Unlock()
	release(numbers)
}

// forget releases a handler that the cluster will no longer call.
func (c *Cluster) forget(number uint64) {
	c.mu.Lock()
	before := len(c.callables)
	c.callables = slices.DeleteFunc(c.callables, func(n uint64) bool { return n == number })
	mine := len(c.callables) < before
	c.mu.Unlock()
	if mine {
		release([]uint64{number})
	}
}

// release removes handlers, unless other clusters may call them, and stops the server with the last handler.
func release(numbers []uint64) {
	callables.Lock()
	defer callables.Unlock()
	for _, n := range numbers {
		h := callables.handlers[n]
		if h == nil {
			continue
		}
		if h.clusters--; h.clusters == 0 {
			delete(callables.handlers, n)
		}
	}
	if len(callables.handlers) == 0 && callables.server != nil {
		_ = callables.server.Close()
		callables.server = nil
	}
}

// callableOf returns a handler, or nil, and whether its calls last.
func callableOf(number uint64) (h http.Handler, lasting bool) {
	callables.Lock()
	defer callables.Unlock()
	if h := callables.handlers[number]; h != nil {
		return h.handler, h.lasting
	}
	return nil, false
}

// serveCallables serves the handlers to clusters outside of bubbles, on a loopback address and below a secret
// path. The caller has the lock.
func serveCallables() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serving the handlers of this process: %w", err)
	}
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		return err
	}
	prefix := "/" + hex.EncodeToString(secret)
	callables.url = "http://" + l.Addr().String() + prefix
	callables.server = &http.Server{ReadHeaderTimeout: time.Minute, ErrorLog: log.New(withoutOurs{}, "", log.LstdFlags), Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		serveOutside(w, req, prefix)
	})}
	go callables.server.Serve(l)
	return nil
}

// serveOutside calls a handler, whose number is in the path.
func serveOutside(w http.ResponseWriter, req *http.Request, prefix string) {
	rest, ok := strings.CutPrefix(req.URL.Path, prefix+"/")
	number, path, _ := strings.Cut(rest, "/")
	n, err := strconv.ParseUint(number, 10, 64)
	h, _ := callableOf(n)
	if !ok || err != nil || h == nil {
		http.NotFound(w, req)
		return
	}
	req = req.Clone(req.Context())
	req.URL.Path = "/" + path
	if raw := req.URL.RawPath; raw != "" {
		req.URL.RawPath = strings.TrimPrefix(raw, prefix+"/"+number)
	}
	req.RequestURI = req.URL.RequestURI()
	call := newCall(h, req)
	defer func() {
		outcome, text := call.end(recover())
		switch {
		case outcome == functionDone:
		case outcome == functionPanicked:
			w.Header().Set(panicHeader, text) // has no effect if the answer has begun
			w.WriteHeader(http.StatusInternalServerError)
			fallthrough
		default:
			if flusher, ok := w.(http.Flusher); ok && outcome == functionPanicked {
				flusher.Flush()
			}
			panic(http.ErrAbortHandler)
		}
	}()
	call.run(w)
}

// withoutOurs writes to the standard logger, except for net/http's message that serveOutside has called
// WriteHeader a second time.
type withoutOurs struct{}

func (withoutOurs) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("remote.serveOutside")) {
		return len(line), nil
	}
	return log.Writer().Write(line)
}

// panicHeader is the header that reports the panic of a handler to the host.
const panicHeader = "Fakecluster-Panic"

// handlerCall is a call of a handler.
type handlerCall struct {
	handler  http.Handler
	req      *http.Request
	body     *bodyPrefix
	returned bool
}

func newCall(h http.Handler, req *http.Request) *handlerCall {
	setTLS(req)
	body := &bodyPrefix{ReadCloser: req.Body}
	if req.Body != http.NoBody {
		req.Body = body
	}
	return &handlerCall{handler: h, req: req, body: body}
}

// run calls the handler. It may panic, or end the goroutine.
func (c *handlerCall) run(w http.ResponseWriter) {
	c.handler.ServeHTTP(w, c.req)
	c.returned = true
}

// end returns the outcome of a call, for the value that a deferred function has recovered. It logs a panic,
// as net/http does, without its reason if the call is about a Secret.
func (c *handlerCall) end(what any) (outcome uint64, text string) {
	switch {
	case c.returned:
		return functionDone, ""
	case what == nil, what == http.ErrAbortHandler: // nil: runtime.Goexit, as by t.FailNow
		return functionAborted, ""
	}
	text = fmt.Sprint(what)
	if bytes.Contains(c.body.kept, []byte(`"kind":"Secret"`)) {
		text = "the reason is hidden, because the request is about a Secret"
	}
	log.Printf("http: panic serving %s: %s\n%s", c.req.URL.Path, text, debug.Stack())
	return functionPanicked, strings.ReplaceAll(text, "\n", " ") + placeOfPanic()
}

// bodyPrefix is the body of a request. It keeps the first bytes that are read: an AdmissionReview names the
// kind of the object before the object itself.
type bodyPrefix struct {
	io.ReadCloser
	kept []byte
}

const maxPrefix = 1 << 10

func (b *bodyPrefix) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.kept = append(b.kept, p[:min(n, maxPrefix-len(b.kept))]...)
	return n, err
}

// placeOfPanic returns the function, file and line of the panic from which the calling deferred function has
// recovered.
func placeOfPanic() string {
	counters := make([]uintptr, 64)
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters)])
	for panicking := false; ; {
		f, more := frames.Next()
		switch {
		case strings.HasPrefix(f.Function, "runtime."):
			panicking = true
		case panicking:
			return fmt.Sprintf(" (%s, %s:%d)", f.Function, filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}

// bubbleKey is the key of the bubble in the context of a call.
type bubbleKey struct{}

// runningCall is a call in a bubble.
type runningCall struct {
	cancel  context.CancelFunc
	lasting bool
}

// startCall starts a call of a handler, which the host has requested, in the bubble. The caller has the lock.
func (b *bubble) startCall(id uint64, messages *reader) error {
	number, err := messages.number()
	if err != nil {
		return err
	}
	var fields [3][]byte
	for i := range fields {
		if fields[i], err = messages.text(); err != nil {
			return err
		}
	}
	header, err := messages.header()
	if err != nil {
		return err
	}
	body, err := messages.text()
	if err != nil {
		return err
	}
	u, err := url.ParseRequestURI(string(fields[1]))
	if err != nil {
		return err
	}
	h, lasting := callableOf(number)
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), bubbleKey{}, b))
	req := (&http.Request{
		Method: string(fields[0]), URL: u, RequestURI: string(fields[1]), Host: string(fields[2]), Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(body)), RemoteAddr: "fakecluster",
		Body: io.NopCloser(bytes.NewReader(body)),
	}).WithContext(ctx)
	if len(body) == 0 {
		req.Body = http.NoBody
	}
	b.calls[id] = &runningCall{cancel, lasting}
	b.watched.work.Add(1)
	b.serving.Add(1)
	go b.serve(id, h, req)
	return nil
}

// serve calls a handler, and sends its answer to the host.
func (b *bubble) serve(id uint64, h http.Handler, req *http.Request) {
	defer b.serving.Done()
	w := &callAnswer{bubble: b, id: id, header: http.Header{}}
	if h == nil {
		h = http.NotFoundHandler()
	}
	call := newCall(h, req)
	defer func() {
		outcome, text := call.end(recover())
		if outcome == functionDone {
			w.WriteHeader(http.StatusOK)
		}
		w.frame = appendText(binary.AppendUvarint(appendKind(w.start(), functionEnd, id), outcome), text)
		w.send()
		b.mu.Lock()
		defer b.mu.Unlock()
		if running := b.calls[id]; running != nil {
			running.cancel()
			delete(b.calls, id)
		}
	}()
	call.run(w)
}

// callAnswer is the http.ResponseWriter of a handler in a bubble. It sends the written data to the host in a
// frame when more than 64 KiB wait, at a Flush, and at the end.
type callAnswer struct {
	bubble *bubble
	id     uint64
	header http.Header
	begun  bool

	frame []byte // data that has not been sent; nil: none
}

// maxAnswerPart is how many bytes of an answer wait until they are sent.
const maxAnswerPart = 64 << 10

// start returns the frame of the waiting data, or a new one.
func (w *callAnswer) start() []byte {
	if w.frame == nil {
		return make([]byte, frameHead, 1<<10)
	}
	return w.frame
}

func (w *callAnswer) send() {
	if w.frame == nil {
		return
	}
	b := w.bubble
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.exchange(w.frame, nil) // the bubble has the error
	w.frame = nil
}

// Header implements http.ResponseWriter.
func (w *callAnswer) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *callAnswer) WriteHeader(status int) {
	switch {
	case status < 100 || status > 999:
		panic(fmt.Sprintf("invalid WriteHeader code %v", status)) // as net/http does
	case w.begun || status < 200:
		return
	}
	w.begun = true
	w.frame = appendHeader(binary.AppendUvarint(appendKind(w.start(), functionHead, w.id), uint64(status)), w.header)
}

// Write implements http.ResponseWriter.
func (w *callAnswer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if len(p) == 0 {
		return 0, nil
	}
	w.frame = appendText(appendKind(w.start(), functionData, w.id), p)
	if len(w.frame) > maxAnswerPart {
		w.send()
	}
	return len(p), nil
}

// Flush implements http.Flusher.
func (w *callAnswer) Flush() {
	w.WriteHeader(http.StatusOK)
	w.send()
}
