package rest

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// requestTimeout is what a write may take at most. It is a real server's.
const requestTimeout = 34 * time.Second

// withDeadline serves a write that others are asked about, who may take their
// time: no longer than a request may take, or the client wants to wait.
func (r *request) withDeadline(h handler) error {
	if r.chain.Load().Empty() || r.info.Verb == "get" || r.info.Verb == "list" || r.info.Verb == "watch" || r.info.Verb == "deletecollection" {
		return h(r)
	}
	timeout := requestTimeout
	if wanted, err := time.ParseDuration(r.URL.Query().Get("timeout")); err == nil && wanted > 0 && wanted < timeout {
		timeout = wanted
	}
	request := r.ctx
	ctx, cancel := context.WithTimeout(request, timeout)
	defer func() {
		cancel()
		r.ctx = request // for another attempt
	}()
	r.ctx = ctx
	err := h(r)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return apierrors.NewTimeoutError("request did not complete within requested timeout - "+ctx.Err().Error(), 0)
	}
	return err
}
