package rest

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/fakecluster/fakecluster/internal/aggregation"
	"github.com/fakecluster/fakecluster/internal/observe"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
)

// connection returns the connection of the requested subresource, or nil.
func (r *request) connection() *resource.Connection {
	if s := r.version.Subresource[r.info.Subresource]; s != nil {
		return s.Connection
	}
	return nil
}

// connect serves a connection, such as the log of a pod or an exec.
func connect(r *request) error {
	connection := r.connection()
	query := r.http.URL.Query()
	if connection.View != nil && query.Has("dryRun") {
		return apierrors.NewBadRequest("dryRun is not supported")
	}
	options, err := connection.Options(query, r.pathBehind())
	if err != nil {
		return err
	}
	if connection.View != nil {
		if err := r.cluster.Writes.Connect(r.ctx, r.write(nil, write.Options{}), connection.View, options); err != nil {
			return err
		}
	}
	upgrade := httpstream.IsUpgradeRequest(r.http)
	handler, err := connection.Connect(r.ctx, r.info.Name, options, upgrade, connectResponder{r})
	if err != nil {
		return err
	}
	if handler == nil {
		r.w.WriteHeader(http.StatusNoContent) // as a real server answers where there is nothing to stream
		return nil
	}
	w := r.w
	if upgrade {
		hijacker, _ := aggregation.Hijackable(r.w).(http.Hijacker)
		if hijacker == nil {
			return apierrors.NewInternalError(errors.New("unable to upgrade: the client does not have a connection, because its cluster is in process; for exec and attach, call NewSPDYExecutor of package workloads"))
		}
		w = upgraded{r.w, hijacker, &contextOf(r.http).observe}
	}
	// The libraries of streams log only that a client or a kubelet has closed its connection. Errors are in
	// the answer.
	handler.ServeHTTP(w, r.http.WithContext(klog.NewContext(r.ctx, logr.Discard())))
	return nil
}

// connectResponder answers for a connection that cannot be made. It implements upstream's rest.Responder.
type connectResponder struct{ r *request }

// Object implements rest.Responder. No connection answers with an object.
func (c connectResponder) Object(int, runtime.Object) {
	c.Error(apierrors.NewInternalError(errors.New("a connection has answered with an object")))
}

// Error implements rest.Responder.
func (c connectResponder) Error(err error) { writeError(c.r.w, c.r.http, err) }

// upgraded is the response to a request whose connection may be upgraded to a stream.
type upgraded struct {
	http.ResponseWriter
	connection http.Hijacker
	observe    *observe.Request
}

// Hijack implements http.Hijacker.
func (u upgraded) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, buffered, err := u.connection.Hijack()
	if err == nil {
		u.observe.Responded(http.StatusSwitchingProtocols, true)
	}
	return c, buffered, err
}

// pathBehind returns the path after the subresource, such as /metrics in services/web/proxy/metrics. It is
// empty or begins with a slash.
func (r *request) pathBehind() string {
	path := ""
	if len(r.info.Parts) > 3 {
		path = "/" + strings.Join(r.info.Parts[3:], "/")
	}
	if strings.HasSuffix(r.http.URL.Path, "/") && !strings.HasSuffix(path, "/") {
		path += "/"
	}
	return path
}
