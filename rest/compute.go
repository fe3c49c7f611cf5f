package rest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/printable"
	"github.com/fakecluster/fakecluster/internal/redact"
	"github.com/fakecluster/fakecluster/internal/write"
)

// largeBytes is the size of a body, or of a stored object, from which a write computes on a goroutine of its
// own. What upstream does with smaller ones takes a tenth of a second at most, even where its time grows
// with the square of the size; strategic merge patches of lists are the slowest.
const largeBytes = 16 << 10

// largeAnswer is the size of stored objects from which an answer that shows them in another form is computed on
// a goroutine of its own. YAML is the slowest.
const largeAnswer = 128 << 10

// computations are the calls of upstream's and of the user's code by requests, which do not check the
// contexts of the requests.
type computations struct {
	closing context.Context // ends with the server

	mu   sync.Mutex
	late map[*computation]bool // those whose requests have been answered already
	// idle is closed when the last of late ends; nil: no goroutine waits for that.
	idle chan struct{}
}

// computation is the call for one request.
type computation struct {
	request string         // the request, in words
	shown   redact.Request // what decides what may be shown of the panic
	began   time.Time
	done    chan struct{}

	// These are set before done is closed.
	returned bool
	panicked *computePanic // nil: it has not panicked
}

// computePanic is a panic of a computation, with the stack of its goroutine.
type computePanic struct {
	value any
	stack []byte
}

func (p *computePanic) String() string { return fmt.Sprint(p.value) }

// compute returns what f returns, or an error if the request or the server ends first. Then f goes on,
// because nothing can interrupt it, and its result is dropped. So f must not write to the answer, read
// the body or change the request. The writes in it fail: a write.Pipeline commits nothing once its context
// has ended.
//
// A goroutine costs a write some microseconds and 10 to 14 allocations, because the time limit becomes a timer. It is
// worth it only for what may take long.
func compute[T any](r *request, f func() (T, error)) (T, error) {
	var (
		result T
		err    error
	)
	c := &computation{began: time.Now(), done: make(chan struct{})}
	go func() {
		defer r.handler.computations.end(c)
		defer func() {
			if p := recover(); p != nil {
				c.panicked = &computePanic{p, debug.Stack()}
			}
		}()
		result, err = f()
		c.returned = true
	}()
	select {
	case <-c.done:
	case <-r.ctx.Done():
	case <-r.handler.computations.closing.Done():
	}
	if r.leave(c) {
		var none T
		return none, cmp.Or(r.ctx.Err(), errClosed)
	}
	switch {
	case c.returned:
		return result, err
	case c.panicked == nil:
		runtime.Goexit() // as f has done, which a test's FailNow does
	case c.panicked.value == http.ErrAbortHandler:
		panic(http.ErrAbortHandler)
	}
	panic(c.panicked)
}

// inTime calls f with a write, and returns what it returns, or an error if the request or the server ends first: a write
// that may take long is computed on a goroutine of its own. f has the write as an argument, because a closure about it
// would cost each write an allocation.
func inTime[T any](r *request, w *write.Request, f func(*request, *write.Request) (T, error)) (T, error) {
	if r.mayTakeLong(w) {
		return compute(r, func() (T, error) { return f(r, w) })
	}
	return f(r, w)
}

// leave reports whether a computation has not ended although its request is about to be answered. It then
// drops later warnings, and records the computation as late.
func (r *request) leave(c *computation) bool {
	running := &r.handler.computations
	running.mu.Lock()
	defer running.mu.Unlock()
	select {
	case <-c.done:
		return false
	default:
	}
	ctx := contextOf(r.http)
	ctx.warnings.end()
	c.request, c.shown = printable.Text(r.String()), ctx.observe.Shown()
	if running.late == nil {
		running.late = map[*computation]bool{}
	}
	running.late[c] = true
	return true
}

// end records that a computation has ended.
func (running *computations) end(c *computation) {
	running.mu.Lock()
	defer running.mu.Unlock()
	close(c.done)
	if !running.late[c] {
		return
	}
	if p := c.panicked; p != nil && p.value != http.ErrAbortHandler {
		klog.ErrorS(nil, "A request made the API server panic after it had been answered", "request", c.request, "panic", c.shown.Text(p.String()), "stack", string(p.stack))
	}
	delete(running.late, c)
	if len(running.late) == 0 && running.idle != nil {
		close(running.idle)
		running.idle = nil
	}
}

// wait waits until no computation is late, for the given time at most, and returns those that are still late,
// the oldest first.
func (running *computations) wait(longest time.Duration) []*computation {
	running.mu.Lock()
	if len(running.late) == 0 {
		running.mu.Unlock()
		return nil
	}
	if running.idle == nil {
		running.idle = make(chan struct{})
	}
	idle := running.idle
	running.mu.Unlock()
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
	running.mu.Lock()
	defer running.mu.Unlock()
	return slices.SortedFunc(maps.Keys(running.late), func(a, b *computation) int { return a.began.Compare(b.began) })
}

// drain waits until no computation is late, for the given time at most. It returns an error that names those that still
// run.
func (running *computations) drain(longest time.Duration) error {
	var errs []error
	for _, c := range running.wait(longest) {
		errs = append(errs, fmt.Errorf("%s still computes, since %s; nothing can interrupt it, and its result is dropped", c.request, time.Since(c.began).Round(time.Millisecond)))
	}
	return errors.Join(errs...)
}

// String names the request: "kubectl strategic patch of pods default/web", or "GET /openapi/v2".
func (r *request) String() string {
	if !r.info.IsResourceRequest {
		return r.http.Method + " " + r.http.URL.Path
	}
	ctx := contextOf(r.http)
	user := ""
	if ctx.user != nil {
		user = ctx.user.GetName()
	}
	verb := r.info.Verb
	if verb == "patch" {
		verb = strings.TrimSpace(history.PatchWord(r.http.Header.Get("Content-Type")) + " " + verb)
	}
	object := inspect.Request{
		Group: r.info.APIGroup, Resource: r.info.Resource, Subresource: r.info.Subresource, Namespace: r.info.Namespace, Name: r.info.Name,
	}.Object()
	return fmt.Sprintf("%s %s of %s", inspect.ClientName(user, r.http.UserAgent()), verb, object)
}

// hasLargeBody reports whether the body, which has been read, is large.
func (r *request) hasLargeBody() bool { return len(r.sent.Body) > largeBytes }

// isLarge reports whether an answer takes long to compute, because it shows stored objects of this size in
// another form.
func (r *request) isLarge(size int) bool { return !r.form.Plain && size > largeAnswer }

// callsHooks reports whether webhooks or functions are called for writes. The calls for the write of a client end
// with its context. Those for the writes that follow from it do not.
func (r *request) callsHooks() bool {
	chain := r.cluster.Writes.Chain()
	return chain.Webhooks != nil || chain.Functions != nil
}

// mayTakeLong reports whether a write may take long without looking at its context. If it is false, the write
// takes a fraction of a second.
func (r *request) mayTakeLong(w *write.Request) bool {
	res := r.version.Resource
	if r.hasLargeBody() || res.ConvertedByWebhook || r.version.ContentFirst != nil || r.callsHooks() {
		return true
	}
	if uncompiled := r.version.Exceptions.Uncompiled; uncompiled != nil && uncompiled() {
		return true
	}
	switch change := w.Change.(type) {
	case write.Create, nil: // nil: an action or a review
		return false
	case write.Delete:
		if r.cluster.CollectsGarbage() {
			return true // it may be followed by many others
		}
	case write.Patch:
		if change.Type == types.JSONPatchType && bytes.Contains(change.Body, []byte("copy")) {
			return true // a few copies make a large object
		}
	}
	current, err := r.cluster.Store.Get(res.Key(w.Namespace, w.Name))
	return err == nil && len(current.Value) > largeBytes
}
