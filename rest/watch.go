package rest

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/observe"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// watches serves the verb watch.
type watches struct {
	shared  *view.Frames
	closing context.Context      // ends with the server
	limit   int64                // how many there may be at a time
	timeout func() time.Duration // of a watch that has none; 0: it does not end
	running *atomic.Int64
	faults  *faultinjection.Engine
}

// maxWatches is the default of Options.MaxWatches. A watch keeps a connection and a goroutine; a test with
// more watches probably leaks them.
const maxWatches = 10_000

// begin counts a watch until end is called. It fails if there are too many.
func (w watches) begin() (end func(), err error) {
	if w.running.Add(1) > w.limit {
		w.running.Add(-1)
		return nil, errTooManyWatches
	}
	return func() { w.running.Add(-1) }, nil
}

// watch streams the changes to the objects of one namespace, of all namespaces, or to one object, until the
// client disconnects, the time is over, or the definition of the resource changes.
func (w watches) watch(r *request) error {
	options, err := r.listOptions()
	if err != nil {
		return err
	}
	sel, err := view.NewSelector(r.version, options, func(record store.Record) (string, error) { return w.shared.Text(r.version, record) })
	if err != nil {
		return err
	}
	from, err := storage.APIObjectVersioner{}.ParseResourceVersion(options.ResourceVersion)
	if err != nil {
		return err
	}
	initial := from == 0
	if options.SendInitialEvents != nil {
		initial = *options.SendInitialEvents
	}
	position, err := w.beginCached(r, options, initial)
	if err != nil {
		return err
	}
	// As on a real server, the watch has begun before the form of its answer is looked at.
	shown, err := r.view()
	if err != nil {
		return err
	}
	info, err := negotiation.NegotiateOutputMediaTypeStream(r.http, r.version.Serializer, r.version)
	if err != nil {
		return err
	}
	if _, ok := r.w.(http.Flusher); !ok {
		return apierrors.NewInternalError(fmt.Errorf("unable to start watch - can't get http.Flusher: %#v", r.w))
	}
	end, err := w.begin()
	if err != nil {
		return err
	}
	defer end()
	events := view.NewEvents(shown, w.shared, info, func(v *resource.Version, record store.Record) (runtime.Object, bool, error) {
		decoded, ok, err := r.cluster.Writes.Memory.Cached(v, record)
		return decoded.Object, ok, err
	})
	streamTo := func(out frames) *watchStream {
		return &watchStream{r: r, position: position, initial: initial, selector: sel, options: options, events: events, out: out, faults: w.faults, observe: observe.From(r.ctx)}
	}
	ctx, stop := w.untilWatchEnds(r.ctx, options)
	defer stop()
	if wsstream.IsWebSocketRequest(r.http) {
		return overWebSocket(ctx, r, info, func(ctx context.Context, out frames) { streamTo(out).run(ctx, from) })
	}
	stream := streamTo(framesOf(r.w, r.http, options))
	stream.run(ctx, from)
	if stream.dropped {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// watchTimeout returns the timeout of a watch without timeoutSeconds; 0: it does not end. Timeouts are
// random, so that not all clients watch again at the same time.
func (h *handler) watchTimeout() time.Duration {
	least := h.options.MinWatchTimeout
	if least <= 0 {
		return 0
	}
	return least + time.Duration(h.cluster.Writes.Random.Below(int(least)))
}

// untilWatchEnds returns the context of a watch. It ends with the request, after
// timeoutSeconds or the timeout of the server, and when the server closes. A negative timeout
// ends it at once.
func (w watches) untilWatchEnds(request context.Context, o *internalversion.ListOptions) (context.Context, func()) {
	ctx, cancel := context.WithCancel(request)
	timedOut, timeout := func() {}, w.timeout()
	if o.TimeoutSeconds != nil && *o.TimeoutSeconds != 0 {
		timeout = time.Duration(*o.TimeoutSeconds) * time.Second // overflows as on a real server
	}
	if timeout != 0 {
		ctx, timedOut = context.WithTimeout(ctx, timeout)
	}
	detach := context.AfterFunc(w.closing, cancel)
	return ctx, func() { detach(); timedOut(); cancel() }
}

// maxWatches is the largest number of watches at a time.
func (h *handler) maxWatches() int64 {
	if h.options.MaxWatches > 0 {
		return int64(h.options.MaxWatches)
	}
	return maxWatches
}

// framesOf returns where the events of a watch over plain HTTP go.
func framesOf(w http.ResponseWriter, r *http.Request, o *internalversion.ListOptions) frames {
	if isWatchList(o) && acceptsGzip(r) && utilfeature.DefaultFeatureGate.Enabled(features.WatchListCompression) {
		return gzipped{answered{w}}
	}
	return answered{w}
}
