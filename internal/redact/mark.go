package redact

import (
	"context"
	"sync/atomic"
)

// A policy whose parameter is a Secret may quote it in a text about any other object. A mark in the context of the
// request tells the code outside of the server.

type markKey struct{}

// WithMark returns a context for a request, and a function that reports whether the request was marked.
func WithMark(ctx context.Context) (_ context.Context, marked func() bool) {
	mark := &atomic.Bool{}
	return context.WithValue(ctx, markKey{}, mark), mark.Load
}

// Mark marks the request: the texts about it may contain values of a Secret, although it is not for one.
func Mark(ctx context.Context) {
	if mark, ok := ctx.Value(markKey{}).(*atomic.Bool); ok {
		mark.Store(true)
	}
}
