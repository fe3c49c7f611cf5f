package seedtest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// plays is how often [Shorten] plays a history at most, so that a failure is reported in time.
const plays = 400

// Play plays a history of steps. If it fails, Play leaves steps out, fails the test, and prints the
// shortest history that still fails:
//
//	seedtest.Play(t, steps, func(steps []step) error { ... })
//
// The function plays its steps from the beginning, on a state of its own, and does the same
// whenever it gets the same steps. A driver whose goroutines the scheduler interleaves cannot do
// that; one in a testing/synctest bubble can, if no two of its goroutines wake at one time.
func Play[T any](t testing.TB, steps []T, play func(steps []T) error) {
	t.Helper()
	err := play(steps)
	if err == nil {
		return
	}
	shortest, shown := Shorten(steps, err, play)
	lines := make([]string, len(shortest))
	for i, step := range shortest {
		lines[i] = fmt.Sprintf("  %v\n", step)
	}
	t.Fatalf("%v\nthe shortest history that fails, %d of %d steps:\n%s", shown, len(shortest), len(steps), strings.Join(lines, ""))
}

// Shorten leaves steps out as long as a history fails, first many at once and then one by one. It
// returns the shortest one that it has found, and what that fails with.
func Shorten[T any](steps []T, failed error, play func(steps []T) error) ([]T, error) {
	left := plays
	for size := (len(steps) + 1) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(steps) && left > 0; left-- {
			fewer := slices.Delete(slices.Clone(steps), i, i+size)
			if err := play(fewer); err != nil {
				steps, failed = fewer, err
			} else {
				i += size
			}
		}
	}
	return steps, failed
}

// Attempt runs a part of a test in a goroutine of its own, and returns what it fails with. The test
// itself does not fail by that, and what the part logs is dropped. Contexts and cleanups are those
// of the test: what fails in a cleanup is lost.
func Attempt(t testing.TB, part func(t testing.TB)) error {
	a := &attempt{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		part(a)
	}()
	<-done
	a.mu.Lock()
	defer a.mu.Unlock()
	return errors.Join(a.failures...)
}

// attempt is a test that keeps its failures to itself.
type attempt struct {
	testing.TB
	mu       sync.Mutex
	failures []error
}

func (a *attempt) fail(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failures = append(a.failures, errors.New(strings.TrimSuffix(text, "\n")))
}

func (a *attempt) Failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.failures) > 0
}

func (a *attempt) Fail() {
	if !a.Failed() {
		a.fail("the test fails")
	}
}

func (a *attempt) FailNow()                          { a.Fail(); runtime.Goexit() }
func (a *attempt) Error(args ...any)                 { a.fail(fmt.Sprintln(args...)) }
func (a *attempt) Errorf(format string, args ...any) { a.fail(fmt.Sprintf(format, args...)) }
func (a *attempt) Fatal(args ...any)                 { a.Error(args...); runtime.Goexit() }
func (a *attempt) Fatalf(format string, args ...any) { a.Errorf(format, args...); runtime.Goexit() }
func (a *attempt) Log(...any)                        {}
func (a *attempt) Logf(string, ...any)               {}
