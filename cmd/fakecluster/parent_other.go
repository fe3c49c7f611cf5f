//go:build !linux

package main

import "context"

// withParent returns the context: only Linux tells when the process ends that started this one.
func withParent(ctx context.Context) context.Context { return ctx }
