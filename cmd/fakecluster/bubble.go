package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
)

// Only package testing can make a bubble of testing/synctest, in which time is virtual, and it
// makes one in a test only. So the process of "fakecluster run", and that of "fakecluster host", is a test of one function, as
// programs are that "go test" builds.

// inTest calls f with a context in which bubbles can be made, and ends the process with what it
// returns.
func inTest(ctx context.Context, f func(context.Context) int) {
	testing.Init()
	if err := flag.CommandLine.Parse(nil); err != nil { // those of the process are not of package testing
		panic(err) // no arguments cannot be wrong
	}
	testing.Main(
		func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "run", F: func(t *testing.T) { os.Exit(f(withBubbles(ctx, t))) }}}, nil, nil)
}

// testKey is the key of the test in a context.
type testKey struct{}

// withBubbles returns a context in which bubbles are subtests of a test.
func withBubbles(ctx context.Context, t *testing.T) context.Context {
	return context.WithValue(ctx, testKey{}, t)
}

// bubbles returns how to call a function in a bubble, or nil if the context is of no test.
func bubbles(ctx context.Context) func(func()) error {
	t, ok := ctx.Value(testKey{}).(*testing.T)
	if !ok {
		return nil
	}
	return func(f func()) (err error) {
		t.Run("bubble", func(t *testing.T) {
			defer func() {
				if r := recover(); r != nil {
					err = fmt.Errorf("the bubble ended with a panic: %v", r)
				}
			}()
			synctest.Test(t, func(*testing.T) { f() })
		})
		return err
	}
}
