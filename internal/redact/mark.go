package redact

import (
	"context"
	"sync/atomic"
)

// A policy may repeat what its parameter, a Secret, has, in a text about any other object. Who is outside of the
// server learns of that by a mark in the context of the request.

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
