package player

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// A Controller runs beside a scenario until ctx ends, typically a manager. cfg is for the administrator of the
// scenario's cluster.
type Controller func(ctx context.Context, cfg *rest.Config) error

// A controller that sends tooMany writes within tooShort is taken to write without end. Package fakecluster finds endless
// writes only in bubbles, because only there a test cannot go on. This limit also holds in real time and for remote clusters,
// and ends the scenario with the writes of the controller.
const (
	tooMany  = 1000
	tooShort = time.Second
)

// shownWrites is how many of the last writes of the controller a failure shows.
const shownWrites = 10

// stopPeriod is how long a controller may take to return when its context has ended.
const stopPeriod = time.Minute

// controllerRun is a controller that runs beside a scenario.
type controllerRun struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	err    error // what it returned
	total  int
	times  []time.Time // of the last writes, as many as are too many
	writes []string    // the last of them
	stop   func(error) // ends the scenario
	// changes returns the last writes with what each changed; nil: the cluster runs elsewhere.
	changes func() []string
}

// startController starts the controller. stop is called when the scenario has to end because of it.
func startController(ctx context.Context, run Controller, cluster Backend, stop func(error)) *controllerRun {
	if c, ok := cluster.(interface {
		ControllerContext(ctx context.Context) context.Context
	}); ok {
		ctx = c.ControllerContext(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &controllerRun{cancel: cancel, done: make(chan struct{}), stop: stop}
	if c, ok := cluster.(interface{ LastWrites(most int) []string }); ok {
		r.changes = func() []string { return c.LastWrites(shownWrites) }
	}
	cfg := cluster.RESTConfig()
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &writeRecorder{r, next} })
	go func() {
		defer close(r.done)
		err := withoutPanic(run)(ctx, cfg)
		if ctx.Err() != nil {
			return // it was stopped, so its error is not a failure
		}
		if err == nil {
			err = errors.New("it returned before the scenario ended")
		}
		r.mu.Lock()
		r.err = err
		r.mu.Unlock()
		stop(fmt.Errorf("the controller: %w", err))
	}()
	return r
}

// withoutPanic returns a panic of the controller as its error, so that it is the failure of a scenario.
// After ctx has ended the error is ignored, so the panic is not recovered.
func withoutPanic(run Controller) Controller {
	return func(ctx context.Context, cfg *rest.Config) (err error) {
		defer func() {
			if ctx.Err() != nil {
				return
			}
			if r := recover(); r != nil {
				err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		return run(ctx, cfg)
	}
}

// end stops the controller, and waits until it returns.
func (r *controllerRun) end() error {
	if r == nil {
		return nil
	}
	r.cancel()
	late := time.NewTimer(stopPeriod)
	defer late.Stop()
	select {
	case <-r.done:
		return nil
	case <-late.C:
		return fmt.Errorf("the controller has not returned %s after its context ended", stopPeriod)
	}
}

// writeRecorder is the transport of the controller. It records the writes.
type writeRecorder struct {
	run  *controllerRun
	next http.RoundTripper
}

// RoundTrip records a write. It ends the scenario if the controller writes without end.
func (r *writeRecorder) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet || request.Method == http.MethodHead {
		return r.next.RoundTrip(request)
	}
	body := ""
	if request.Body != nil {
		data, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		request.Body.Close()
		request = request.Clone(request.Context())
		request.Body = io.NopCloser(bytes.NewReader(data))
		if !bytes.HasPrefix(data, []byte("k8s\x00")) {
			body = string(data)
		}
	}
	response, err := r.next.RoundTrip(request)
	code := 0
	if err == nil {
		code = response.StatusCode
	}
	r.run.record(request.Method, request.URL.Path, code, body)
	return response, err
}

func (r *controllerRun) record(method, path string, code int, body string) {
	r.mu.Lock()
	now := time.Now()
	r.total++
	line := fmt.Sprintf("%s %s: %d", method, path, code)
	if body = strings.TrimSpace(body); body != "" {
		line += " " + shortened(body, maxShown)
	}
	r.writes = append(r.writes, line)
	if len(r.writes) > shownWrites {
		r.writes = r.writes[1:]
	}
	r.times = append(r.times, now)
	if len(r.times) > tooMany {
		r.times = r.times[1:]
	}
	endless := len(r.times) == tooMany && now.Sub(r.times[0]) < tooShort
	r.mu.Unlock()
	if endless {
		r.cancel()
		r.stop(fmt.Errorf("the controller writes without end: %d writes within %s%s", tooMany, tooShort, r.lastWrites()))
	}
}

// lastWrites shows the last writes of the controller, to stand at the end of a message.
func (r *controllerRun) lastWrites() string {
	if r == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.total == 0 {
		return ""
	}
	last := r.writes
	if r.changes != nil {
		if changes := r.changes(); len(changes) > 0 {
			last = changes
		}
	}
	return fmt.Sprintf("; the last of its %d writes:\n    %s", r.total, strings.Join(last, "\n    "))
}
