package crd

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// Services resolves and reaches the services that webhooks refer to.
type Services interface {
	// ServiceResolver finds the address of a service.
	webhook.ServiceResolver
	// DialContext connects to an address that ResolveEndpoint has returned.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	// ServerName returns the name in the certificate of a service; empty: NAME.NAMESPACE.svc.
	ServerName(namespace, name string, port int32) string
}

// Outside configures calls of webhooks.
type Outside struct {
	// Services resolves the services that webhooks refer to; nil: only URLs work.
	Services Services
	// Closing ends with the cluster and cancels all calls; nil: calls end by their timeout.
	Closing context.Context
	// Former is the resource of the definition before its last change; nil: the definition is new.
	Former *resource.Resource
	// Fails returns the name of the fault that strikes a call of the conversion webhook of a resource; empty: none. nil:
	// no fault strikes calls.
	Fails func(resource schema.GroupResource) (fault string)
}

// formerly returns the Conversions of a version of the former resource; nil: none.
func (o Outside) formerly(r *resource.Resource, version string) *resource.Conversions {
	if o.Former == nil || o.Former.Prefix != r.Prefix || !reflect.DeepEqual(o.Former.Names, r.Names) {
		return nil
	}
	if v := o.Former.Version(version); v != nil {
		return v.Conversions
	}
	return nil
}

// The limits for the answer of a webhook. A real server reads any answer, but here a mistake in a webhook could use up
// the memory of the test. The answer to a ConversionReview contains all its objects, which may have grown.
const (
	maxAnswer          = 16 << 20
	maxAnswerPerAsking = 8 // bytes per byte of the request
)

// calls is a transport whose requests end with the cluster and whose answers are bounded.
type calls struct {
	to      http.RoundTripper
	closing context.Context // nil: never ends
}

var _ utilnet.RoundTripperWrapper = calls{}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (c calls) WrappedRoundTripper() http.RoundTripper { return c.to }

// RoundTrip implements http.RoundTripper.
func (c calls) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, end := context.WithCancel(req.Context())
	if c.closing != nil {
		detach := context.AfterFunc(c.closing, end)
		cancel := end
		end = func() { detach(); cancel() }
	}
	res, err := c.to.RoundTrip(req.WithContext(ctx))
	if err == nil {
		err = c.pause(req.Context(), res)
	}
	if err != nil {
		end()
		return nil, err
	}
	limit := int64(maxAnswer) + maxAnswerPerAsking*max(req.ContentLength, 0)
	res.Body = &answer{ReadCloser: res.Body, limit: limit, left: limit, end: sync.OnceFunc(end)}
	return res, nil
}

// pause waits for the Retry-After of a webhook's answer. client-go would wait as long, but would not stop when the
// cluster closes.
func (c calls) pause(ctx context.Context, res *http.Response) error {
	seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
	if c.closing == nil || err != nil || seconds <= 0 || res.StatusCode != http.StatusTooManyRequests && res.StatusCode < http.StatusInternalServerError {
		return nil
	}
	timer := time.NewTimer(time.Duration(seconds) * time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
		res.Header.Set("Retry-After", "0")
		return nil
	case <-ctx.Done():
		return nil // client-go returns the error
	case <-c.closing.Done():
		_ = res.Body.Close() // the body is not used
		return c.closing.Err()
	}
}

// answer is the body of a webhook's answer.
type answer struct {
	io.ReadCloser
	limit, left int64
	end         func() // ends the call
}

// Read fails if the answer is longer than the limit.
func (a *answer) Read(p []byte) (int, error) {
	if a.left < 0 {
		return 0, fmt.Errorf("the answer of the webhook is longer than %d bytes", a.limit)
	}
	// One more byte than the limit: the answer is too long.
	n, err := a.ReadCloser.Read(p[:min(int64(len(p)), a.left+1)])
	if a.left -= int64(n); a.left < 0 {
		return n - 1, fmt.Errorf("the answer of the webhook is longer than %d bytes", a.limit)
	}
	return n, err
}

// Close implements io.Closer.
func (a *answer) Close() error {
	defer a.end()
	return a.ReadCloser.Close()
}
