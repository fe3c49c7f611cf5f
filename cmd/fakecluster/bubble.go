package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"testing/synctest"

	"github.com/fakecluster/fakecluster/internal/bubble"
)

// testing/synctest makes bubbles, in which time is virtual, only in a test. So the processes of "fakecluster
// run" and "fakecluster host" run as a test with one function, as the programs of "go test" do.

// inTest calls f in a test, with a context for bubbles, and ends the process with the status that f returns.
func inTest(ctx context.Context, f func(context.Context) int) {
	bubble.PrepareLookups()
	testing.Init()
	if err := flag.CommandLine.Parse(nil); err != nil { // the arguments of the process are not for package testing
		panic(err) // cannot happen without arguments
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

// bubbles returns a function that calls another one in a bubble, or nil if the context is not one of inTest.
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
