package main

import (
	"context"
	"fmt"
)

// interruptible calls f, which may take long or block and does not take a context, and returns its result. If ctx ends first, or while f runs, it returns an error
// that says what was not reached; f goes on, and drop gets its result.
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
