package rest

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/flowcontrol"
	"github.com/fakecluster/fakecluster/internal/observe"
)

// requestContext is the context of a request, with the state that its filters share. The filters fill
// it. Upstream's functions find in it what they look for in a context, by its keys.
type requestContext struct {
	context.Context // of the connection

	cluster  builtin.Cluster
	info     *apirequest.RequestInfo // what the path names; nil: it has not been parsed
	user     user.Info               // who was authenticated, before any impersonation; nil: nobody yet
	warnings warnings
	longest  time.Duration // what a request may take
	limit    limit
	observe  observe.Request        // takes the events of its stages
	audited  *auditedAnswer         // nil: requests are not audited
	struck   *faultinjection.Struck // what goes wrong with it on purpose; nil: no fault was in force
	flow     flowcontrol.Request    // its execution, if it matches a FlowSchema
	began    time.Time              // when the server got it
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
			c.warnings.header, c.warnings.observe = w.Header(), &c.observe
			defer c.limit.end()
			next.ServeHTTP(w, req.WithContext(c))
		})
	}
}

// The keys by which upstream's functions look for the values of a request. They are not exported.
var (
	infoKey      = keyOf(func(ctx context.Context) { apirequest.RequestInfoFrom(ctx) })
	userKey      = keyOf(func(ctx context.Context) { apirequest.UserFrom(ctx) })
	namespaceKey = keyOf(func(ctx context.Context) { apirequest.NamespaceFrom(ctx) })
	warningsKey  = keyOf(func(ctx context.Context) { warning.AddWarning(ctx, "", "") })
	clusterKey   = keyOf(func(ctx context.Context) { _, _ = builtin.ClusterFrom(ctx) })
)

// keyOf returns the key by which a function looks for a value in a context. It panics if the function looks
// for none or several: a request would silently lack its user, for example.
func keyOf(find func(context.Context)) any {
	k := &keyContext{Context: context.Background()}
	find(k)
	if len(k.keys) != 1 {
		panic(fmt.Sprintf("a function of k8s.io/apiserver looks for the values %v in a context, not for one", k.keys))
	}
	return k.keys[0]
}

// keyContext keeps the keys that are looked for in it.
type keyContext struct {
	context.Context
	keys []any
}

// Value implements context.Context.
func (k *keyContext) Value(key any) any {
	k.keys = append(k.keys, key)
	return nil
}

// Value implements context.Context.
func (c *requestContext) Value(key any) any {
	switch key {
	case requestContextKey{}:
		return c
	case observe.Key{}:
		return &c.observe
	case clusterKey:
		return c.cluster
	case warningsKey:
		return &c.warnings
	case userKey:
		return c.user
	case infoKey:
		if c.info != nil {
			return c.info
		}
	case namespaceKey:
		if c.info != nil {
			return c.info.Namespace
		}
	}
	// The context of the limit is one of package context, which looks for it here.
	if limited := c.limit.made(); limited != nil {
		return limited.Value(key)
	}
	return c.Context.Value(key)
}

// Deadline implements context.Context.
func (c *requestContext) Deadline() (time.Time, bool) {
	deadline, ok := c.Context.Deadline()
	if own := c.limit.deadline; !own.IsZero() && (!ok || own.Before(deadline)) {
		return own, true
	}
	return deadline, ok
}

// Done implements context.Context.
func (c *requestContext) Done() <-chan struct{} { return c.limit.make(c.Context).Done() }

// Err implements context.Context.
func (c *requestContext) Err() error { return c.limit.err(c.Context) }

// limit ends a context at a time. Few requests wait for the end of their context, so the
// context with the timer is made when the first caller waits.
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

// make returns the context with the limit, or the parent if no limit is set. The parent is
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
