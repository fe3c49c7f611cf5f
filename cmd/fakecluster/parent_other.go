//go:build !linux

package main

import "context"

// withParent returns the context: only Linux reports the end of the parent process.
func withParent(ctx context.Context) context.Context { return ctx }
