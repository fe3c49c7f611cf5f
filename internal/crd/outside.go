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

// Services are the services that webhooks refer to.
type Services interface {
	// ServiceResolver finds the address of a service.
	webhook.ServiceResolver
	// DialContext connects to an address that ResolveEndpoint has returned.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	// ServerName returns the name in the certificate of a service; empty: NAME.NAMESPACE.svc.
	ServerName(namespace, name string, port int32) string
}

// Outside says how a cluster calls webhooks.
type Outside struct {
	// Services resolves the services that webhooks refer to; nil: webhooks can be referred to
	// by URL only.
	Services Services
	// Closing ends with the cluster, and all calls end with it; nil: they end by their timeout.
	Closing context.Context
	// Former is what the definition made before its last change; nil: it is new to the cluster.
	Former *resource.Resource
	// Fails returns the name of the fault that strikes a call of the conversion webhook of a
	// resource; empty: none does. Nil: no call is struck.
	Fails func(resource schema.GroupResource) (fault string)
}

// formerly returns the conversions to a version of the former resource; nil: it had none.
func (o Outside) formerly(r *resource.Resource, version string) *resource.Conversions {
	if o.Former == nil || o.Former.Prefix != r.Prefix || !reflect.DeepEqual(o.Former.Names, r.Names) {
		return nil
	}
	if v := o.Former.Version(version); v != nil {
		return v.Conversions
	}
	return nil
}

// The size of the largest answer that is read from a webhook. A real server reads any answer,
// but here a mistake in a webhook would use up the memory of the test. The answer to a
// ConversionReview contains all its objects, and each may have grown.
const (
	maxAnswer          = 16 << 20
	maxAnswerPerAsking = 8 // bytes for each byte of the question
)

// calls is a transport whose requests end with the cluster and whose answers are bounded.
type calls struct {
	to      http.RoundTripper
	closing context.Context // nil: never
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

// pause waits as long as the answer of a webhook asks its client to wait before it tries again. client-go would
// wait as long, but not end with the cluster.
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
		return nil // client-go finds that out, and words the error
	case <-c.closing.Done():
		_ = res.Body.Close() // nobody reads it
		return c.closing.Err()
	}
}

// answer is the body of a webhook's answer.
type answer struct {
	io.ReadCloser
	limit, left int64
	end         func() // ends the call
}

// Read fails once the answer is longer than the limit.
func (a *answer) Read(p []byte) (int, error) {
	if a.left < 0 {
		return 0, fmt.Errorf("the answer of the webhook is longer than %d bytes", a.limit)
	}
	// One byte more shows that the answer is too long.
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
