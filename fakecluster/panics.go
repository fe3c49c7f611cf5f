package fakecluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/redact"
)

// init adds a handler of panics. controller-runtime recovers from the panic of a Reconciler, counts it, and calls
// these handlers; client-go calls them, too. There is no other way to notice such a panic.
func init() {
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(ctx context.Context, what any) {
		if what == http.ErrAbortHandler {
			return
		}
		text := redact.Request{}.Text(fmt.Sprint(what)) + placeOfPanic()
		if p, ok := ctx.Value(panicsKey{}).(*panics); ok {
			p.note("a controller", text)
			return
		}
		tested.note(text)
	})
}

// panicsKey is the key of the panics of a cluster in the context of its controller.
type panicsKey struct{}

// ControllerContext returns a context for a controller of this cluster. If a controller with this context
// panics, and controller-runtime or client-go recovers from the panic, only the findings of this cluster
// contain the panic. Set it as the BaseContext of a manager: controllers get that context, not the one of the
// manager's Start. A panic with any other context is in the findings of all clusters that run at that time:
// those of Start, and those of New whose ControllerContext was called.
func (c *Cluster) ControllerContext(ctx context.Context) context.Context {
	c.mu.Lock()
	if c.test == nil && !c.closed && c.stopPanics == nil {
		c.stopPanics = c.services.panics.watch()
	}
	c.mu.Unlock()
	return context.WithValue(ctx, panicsKey{}, &c.services.panics)
}

// tested has the clusters that record panics without a context of a cluster. A handler of panics does not get
// the controller, so each of these clusters records the panic.
var tested watched

type watched struct {
	mu    sync.Mutex
	since map[*panics]time.Time // when each began to record
}

// watch adds p to the clusters that record panics, until stop is called.
func (p *panics) watch() (stop func()) {
	tested.mu.Lock()
	defer tested.mu.Unlock()
	if tested.since == nil {
		tested.since = map[*panics]time.Time{}
	}
	tested.since[p] = time.Now().Round(0)
	return func() {
		tested.mu.Lock()
		defer tested.mu.Unlock()
		delete(tested.since, p)
	}
}

// note records a panic for each cluster on the same side of a bubble's border as the controller. It
// distinguishes the sides by their clocks, because the time in a synctest bubble is far from the time
// outside. Times are compared without their monotonic reading (Round), which has nothing in common across
// bubbles.
func (w *watched) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, since := range w.since {
		if passed := time.Now().Round(0).Sub(since); passed >= 0 && passed < maxTestTime {
			p.note("a controller, or another goroutine of the process", what)
		}
	}
}

// maxTestTime is longer than any test runs, and shorter than the time since the year 2000, in which bubbles
// begin.
const maxTestTime = 10 * 365 * 24 * time.Hour

// maxPanics is how many panics a cluster keeps.
const maxPanics = 20

// panics has the newest panics during the life of a cluster: those of its services' handlers, those of its
// middleware, and those that client-go and controller-runtime have recovered from, such as a Reconciler's.
type panics struct {
	now func() time.Time // the clock of the cluster

	mu    sync.Mutex
	found []inspect.Panic
}

func (p *panics) note(where string, what string) {
	now := p.now
	if now == nil {
		now = time.Now
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = append(p.found, inspect.Panic{Time: now(), Handler: where, What: what})
	p.found = p.found[max(0, len(p.found)-maxPanics):]
}

func (p *panics) list() []inspect.Panic {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]inspect.Panic(nil), p.found...)
}

// noting returns a handler that records the panics of h, by a name and the path of the request, and panics
// again. The text of a panic is redacted if the request is about a Secret.
func (p *panics) noting(name string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		read := &bodyPrefix{ReadCloser: req.Body}
		if req.Body != http.NoBody {
			req.Body = read
		}
		defer func() {
			what := recover()
			if what == nil {
				return
			}
			if what != http.ErrAbortHandler {
				text := fmt.Sprint(what)
				shown := redact.Request{Secret: read.isOfSecret()}.Text(text)
				if _, placed := what.(placedPanic); placed {
					p.note(name+req.URL.Path, shown)
					what = http.ErrAbortHandler // the other process has logged it
				} else {
					p.note(name+req.URL.Path, shown+placeOfPanic())
				}
				if shown != text && what != http.ErrAbortHandler {
					what = shown
				}
			}
			panic(what)
		}()
		h.ServeHTTP(w, req)
	})
}

// placedPanic is the panic of a handler in another process. Its text contains its place.
type placedPanic interface{ PlaceOfPanic() }

// bodyPrefix is the body of a request. It keeps the first bytes that are read.
type bodyPrefix struct {
	io.ReadCloser
	mu   sync.Mutex
	kept []byte
}

// maxPrefix is how much is kept. An AdmissionReview names the kind of the object before the object itself.
const maxPrefix = 1 << 10

// Read implements io.Reader.
func (b *bodyPrefix) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = append(b.kept, p[:min(n, maxPrefix-len(b.kept))]...)
	return n, err
}

// isOfSecret reports whether the body is an AdmissionReview of a Secret.
func (b *bodyPrefix) isOfSecret() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Contains(b.kept, []byte(`"kind":"Secret"`))
}

// placeOfPanic returns the function, file and line of the panic from which the calling deferred function has
// recovered.
func placeOfPanic() string {
	counters := make([]uintptr, 64)
	frames := runtime.CallersFrames(counters[:runtime.Callers(3, counters)])
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
