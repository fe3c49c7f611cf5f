package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fakecluster/fakecluster/internal/admission"
)

// requestTimeout is what a write may take at most. It is a real server's.
const requestTimeout = 34 * time.Second

// limitTime ends the context of a write after the time that the client wants to wait, or
// that a request may take at most. Without anybody to ask about writes they take no time,
// and there is no limit. It refuses a timeout that cannot be read, whatever the request.
func limitTime(chain func() *admission.Chain) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			wanted, err := timeoutOf(req)
			if err != nil {
				writeError(w, req, err)
				return
			}
			if chain().Empty() || !mayWait(req) {
				next.ServeHTTP(w, req)
				return
			}
			timeout, cause := requestTimeout, error(nil)
			if wanted > 0 && wanted < timeout {
				timeout, cause = wanted, errAllotted
			}
			ctx, cancel := context.WithTimeoutCause(req.Context(), timeout, cause)
			defer cancel()
			next.ServeHTTP(w, req.WithContext(ctx))
		})
	}
}

// timeoutOf is the timeout in the query; 0 if there is none.
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

// mayWait tells whether a request is one that webhooks are called for.
func mayWait(req *http.Request) bool {
	switch info := infoOf(req); info.Verb {
	case "get", "list", "watch", "deletecollection":
		return false
	default:
		return info.IsResourceRequest
	}
}

// errAllotted is the end of a request that took longer than its client wanted to wait.
var errAllotted = apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0)

// orTimeout is the error of a request, or that it ran out of time.
func orTimeout(ctx context.Context, err error) error {
	switch {
	case err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return err
	case errors.Is(context.Cause(ctx), errAllotted):
		return errAllotted
	default:
		return apierrors.NewTimeoutError("request did not complete within requested timeout - "+ctx.Err().Error(), 0)
	}
}

// writeAllotted answers a request with errAllotted. On a real server a filter in front of
// all handlers does, which knows no media types: it sends the Status in JSON as a text,
// without its kind. client-go cannot read that, and says that "the server was unable to
// return a response in the time allotted".
func writeAllotted(w http.ResponseWriter, req *http.Request) {
	tellStatus(req.Context(), toStatus(errAllotted))
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusGatewayTimeout)
	json.NewEncoder(w).Encode(&errAllotted.ErrStatus)
}
