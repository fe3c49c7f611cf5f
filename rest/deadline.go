package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"
)

// The longest time of a request, as on a real server, unless the options of the server set another one, and
// that of a write of one object.
const (
	requestTimeout = time.Minute
	writeTimeout   = 34 * time.Second
)

// answerGrace is how long after the deadline of its request a response may still be read. A real server ends
// the response together with the request; here the response may be the error about the deadline.
const answerGrace = 2 * time.Second

// limitTime ends the context of a request after the timeout in its query, and at the latest after longest, unless
// the request is long-running. It rejects a timeout that cannot be parsed.
//
// No handler is interrupted. Webhooks, CEL, loops over objects and the stages of a write check the context.
// Other code that may take long runs on another goroutine (see compute). The rest is quick, because
// largeBytes and schema.MaxDefaults limit its input.
func limitTime(longest time.Duration) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			contextOf(req).longest = longest
			if isLongRunning(req, infoOf(req)) {
				next.ServeHTTP(w, req)
				return
			}
			timeout, late, err := limitOf(req)
			if err != nil {
				writeError(w, req, err)
				return
			}
			now := time.Now()
			// A client that does not read its answer does not keep the connection for ever. In process there
			// is no connection.
			_ = http.NewResponseController(w).SetWriteDeadline(now.Add(timeout + answerGrace))
			contextOf(req).limit.set(now.Add(timeout), late)
			next.ServeHTTP(w, req)
		})
	}
}

// limitOf returns the time that a request may take, and late, the error if it takes longer.
func limitOf(req *http.Request) (timeout time.Duration, late error, err error) {
	wanted, err := timeoutOf(req)
	if err != nil {
		return 0, nil, err
	}
	timeout, late = contextOf(req).longest, errAllotted
	if writesOne(infoOf(req)) && timeout > writeTimeout {
		timeout, late = writeTimeout, errLate
	}
	if wanted > 0 && wanted < timeout {
		timeout, late = wanted, errAllotted
	}
	return timeout, late, nil
}

// timeoutOf returns the timeout in the query, or 0 if there is none.
func timeoutOf(req *http.Request) (time.Duration, error) {
	if !strings.Contains(req.URL.RawQuery, "timeout=") {
		return 0, nil
	}
	timeout := req.URL.Query().Get("timeout")
	if timeout == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(timeout)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("invalid timeout specified in the request URL - %v", err))
	}
	return d, nil
}

// writesOne reports whether a request writes one object.
func writesOne(info *apirequest.RequestInfo) bool {
	switch info.Verb {
	case "get", "list", "deletecollection":
		return false
	default:
		return info.IsResourceRequest
	}
}

// errLate is the error of a write that took longer than a write may take.
var errLate = apierrors.NewTimeoutError("request did not complete within requested timeout - "+context.DeadlineExceeded.Error(), 0)

// orTimeout replaces the error of a request that has run out of time.
func orTimeout(ctx context.Context, err error) error {
	if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	if late := context.Cause(ctx); errors.Is(late, errAllotted) || errors.Is(late, errLate) {
		return late
	}
	return errLate
}

// freshWait is how long a read waits for a resourceVersion that does not exist yet, as the cache of a real
// server does.
const freshWait = 3 * time.Second

// awaitRevision is called with the error of a read. If the read failed because its resourceVersion does not
// exist yet, awaitRevision waits until the revision exists, for freshWait at most and until the request ends,
// and reports whether to read again. Kinds without a cache do not wait on a real server, and their error does
// not have a retryAfterSeconds.
func (r *request) awaitRevision(err error) bool {
	if !storage.IsTooLargeResourceVersion(err) {
		return false
	}
	if _, cached := apierrors.SuggestsClientDelay(err); !cached || isLongRunning(r.http, r.info) {
		return false
	}
	wanted, invalid := strconv.ParseUint(r.http.URL.Query().Get("resourceVersion"), 10, 64)
	commits, closed := r.cluster.Store.Watch("", 0)
	if invalid != nil || closed != nil {
		return false
	}
	var waited <-chan time.Time
	if deadline, limited := r.ctx.Deadline(); !limited || time.Until(deadline) > freshWait {
		timer := time.NewTimer(freshWait)
		defer timer.Stop()
		waited = timer.C
	}
	for {
		changed := commits.Changed()
		if uint64(r.cluster.Store.Revision()) >= wanted {
			return true
		}
		select {
		case <-changed:
		case <-waited:
			return true // the error names the revision of now
		case <-r.cluster.Closing.Done():
			return false
		case <-r.ctx.Done():
			return false
		}
	}
}
