// Package place has what an exploration needs of the process of a test that is not this one. So the host explores for module remote: package explore makes
// the trials, takes their steps and checks them here, each in a bubble, and the operator, or the body of a run, is in a bubble of the other process. The time here
// passes as it does there.
package place

import (
	"io"
	"testing"
	"time"
)

// Test is a test in another process that explores.
type Test struct {
	testing.TB
	// Folder is the absolute path of the folder in which the test runs. Report and JUnit are those for pages of findings and for the result; empty: none is written.
	Folder, Report, JUnit string
	// Stderr is the standard error of the test.
	Stderr io.Writer
	// Time, Parallel and Shard are the flags -explore.time, -explore.parallel and -explore.shard.
	Time     time.Duration
	Parallel int
	Shard    string
	// Fails: findings fail the test. Then former findings about an operator are tried first, and new ones are written.
	Fails bool
	// Begin begins a trial.
	Begin func() Trial
	// Panic ends the process of the test with a text.
	Panic func(text string)
}

// Trial is a trial in a bubble of the other process: of an operator, or of a body with its controllers.
type Trial interface {
	// Play calls run in a bubble here, whose time is that of a new bubble there, and returns when both have ended, with the stacks of the goroutines that were
	// left there. blocked gets the stack of a goroutine there that waits for something outside of the bubble, with a sentence that says why, and endless how long time has passed there without a
	// request.
	Play(run func(testing.TB), blocked func(stack, reason string), endless func(idle time.Duration)) (left []string, err error)
	// Pass lets time pass, until everything that is due then has happened in both bubbles.
	Pass(d time.Duration, idle bool)
	// Expect says that something is due here after some time, which has to happen on time. idle is set if nothing else happens here before, unless the operator sends
	// a request. Both are called in the bubble here.
	Expect(d time.Duration, idle bool)
	// CleanUp has the body of a run clean up, in the bubble here, when its controllers have ended.
	CleanUp()
	// Panics returns panics of the operator from which a library has recovered, each with its place. Each panic is returned once.
	Panics() []string
	// Stacks returns the stacks of the goroutines of the bubble there.
	Stacks() []string
}
