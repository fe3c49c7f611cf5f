package rest

import (
	"context"
	"net/http"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/explained"
	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/flowcontrol"
	"github.com/fakecluster/fakecluster/internal/history"
)

// requestContext is the context of a request. The filters fill it. It has what upstream's filters
// put into contexts of their own, each with a copy of the request, and upstream's functions find
// it there: apirequest.UserFrom returns user.
type requestContext struct {
	context.Context // of the connection

	cluster   builtin.Cluster
	info      *apirequest.RequestInfo // what the path names
	user      user.Info               // nil: not known yet
	namespace any                     // a string, as apirequest.WithNamespace would put it; nil: not known yet
	warnings  warnings
	longest   time.Duration // what a request may take
	limit     limit
	entry     *history.Entry         // in the history of requests; nil: none yet
	struck    *faultinjection.Struck // what goes wrong with it on purpose; nil: no fault was in force
	explained *explained.Recorder    // nil: the client asks for no explanation
	flow      flowcontrol.Request    // its execution, if it matches a FlowSchema
	began     time.Time              // when the server got it
}

// The keys of upstream's packages, and of ours, for what a requestContext has.
var (
	clusterKey   = keyOf(func(ctx context.Context) { _, _ = builtin.ClusterFrom(ctx) })
	infoKey      = keyOf(func(ctx context.Context) { apirequest.RequestInfoFrom(ctx) })
	userKey      = keyOf(func(ctx context.Context) { apirequest.UserFrom(ctx) })
	namespaceKey = keyOf(func(ctx context.Context) { apirequest.NamespaceFrom(ctx) })
	warningsKey  = keyOf(func(ctx context.Context) { warning.AddWarning(ctx, "", "") })

	// The filter that writes the audit trail puts what it has into contexts that it makes of this
	// one. Whoever asks this one is not in such a context.
	auditKey   = keyOf(func(ctx context.Context) { audit.AuditContextFrom(ctx) })
	latencyKey = keyOf(func(ctx context.Context) { apirequest.LatencyTrackersFrom(ctx) })
)

// keyOf returns the key by which a function looks into a context. The types of such keys are not
// exported.
func keyOf(look func(context.Context)) any {
	asked := &askedContext{Context: context.Background()}
	look(asked)
	return asked.key
}

// askedContext records the key that it is asked for.
type askedContext struct {
	context.Context
	key any
}

// Value implements context.Context.
func (c *askedContext) Value(key any) any {
	c.key = key
	return nil
}

// requestContextKey is the key of a requestContext in itself, and so in every context that is
// made of it.
type requestContextKey struct{}

// contextOf returns the context that giveContext has made for the request.
func contextOf(req *http.Request) *requestContext {
	c, _ := req.Context().Value(requestContextKey{}).(*requestContext)
	return c
}

// giveContext gives a request its requestContext.
func giveContext(cluster builtin.Cluster) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			c := &requestContext{Context: req.Context(), cluster: cluster, began: time.Now()}
			c.warnings.header = w.Header()
			defer c.limit.end()
			next.ServeHTTP(w, req.WithContext(c))
		})
	}
}

// Value implements context.Context.
func (c *requestContext) Value(key any) any {
	switch key {
	case requestContextKey{}:
		return c
	case userKey:
		return c.user
	case namespaceKey:
		return c.namespace
	case infoKey:
		return c.info
	case clusterKey:
		return c.cluster
	case history.Key{}:
		return c.entry
	case explained.Key{}:
		return c.explained
	case warningsKey:
		return &c.warnings
	case auditKey, latencyKey, answerKey{}:
		return nil
	}
	// The context of the limit is one of package context, which looks for it here.
	if limited := c.limit.made(); limited != nil {
		return limited.Value(key)
	}
	return c.Context.Value(key)
}

// Deadline implements context.Context.
func (c *requestContext) Deadline() (time.Time, bool) {
	of, ok := c.Context.Deadline()
	if own := c.limit.deadline; !own.IsZero() && (!ok || own.Before(of)) {
		return own, true
	}
	return of, ok
}

// Done implements context.Context.
func (c *requestContext) Done() <-chan struct{} { return c.limit.make(c.Context).Done() }

// Err implements context.Context.
func (c *requestContext) Err() error { return c.limit.err(c.Context) }

// limit ends a context at a time. Few requests wait for the end of their context, so that the
// context with the timer is made when one does.
type limit struct {
	// deadline and late, the error of a context that ends then, are set before anything waits.
	// The zero deadline is none.
	deadline time.Time
	late     error

	mu     sync.Mutex
	ctx    context.Context // nil: nothing waits
	cancel context.CancelFunc
	ended  bool
}

// set sets the time, before anything waits for it.
func (l *limit) set(deadline time.Time, late error) { l.deadline, l.late = deadline, late }

// made returns the context with the limit, or nil if there is none yet.
func (l *limit) made() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ctx
}

// make returns the context with the limit, or the parent if there is no limit. The parent is
// always the same.
func (l *limit) make(parent context.Context) context.Context {
	if l.deadline.IsZero() {
		return parent
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ctx != nil:
	case l.ended:
		l.ctx, l.cancel = context.WithCancel(parent)
		l.cancel()
	default:
		l.ctx, l.cancel = context.WithDeadlineCause(parent, l.deadline, l.late)
	}
	return l.ctx
}

// err returns why the context has ended, or nil.
func (l *limit) err(parent context.Context) error {
	l.mu.Lock()
	unmade, ended := l.ctx == nil, l.ended
	l.mu.Unlock()
	if unmade && !ended && (l.deadline.IsZero() || time.Now().Before(l.deadline)) {
		return parent.Err()
	}
	return l.make(parent).Err()
}

// end ends the context, because its request has been served.
func (l *limit) end() {
	l.mu.Lock()
	l.ended = true
	cancel := l.cancel
	l.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
