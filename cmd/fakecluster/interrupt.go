package main

import (
	"context"
	"fmt"
)

// interruptible calls f, which may block and does not take a context, and returns its result. If ctx ends
// before f has returned, interruptible returns an error that names the goal. f then continues, and drop gets
// its result.
func interruptible[T any](ctx context.Context, goal string, f func() (T, error), drop func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	done := make(chan result)
	go func() {
		value, err := f()
		select {
		case <-ctx.Done():
			if err == nil {
				drop(value)
			}
		case done <- result{value, err}:
		}
	}()
	select {
	case <-ctx.Done():
		return none, fmt.Errorf("interrupted before %s: %w", goal, ctx.Err())
	case r := <-done:
		return r.value, r.err
	}
}
