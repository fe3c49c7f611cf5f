// Package exploration has what package explore gives to package remote.
package exploration

import (
	"context"
	"io"
	"testing"
	"time"
)

// Exploration is the exploration of an operator, of the upgrade from one version to another, or of a test. Option and Cluster are those of package remote.
type Exploration[Option, Cluster any] struct {
	// Fields are those of the request to the host, besides the versions.
	Fields   map[string]any
	Versions []Version[Option, Cluster]
	// Run is a test, in place of versions of an operator; nil: there is none.
	Run *Run[Option, Cluster]
	// Stderr gets what is told before the test ends.
	Stderr io.Writer
	// Into gets what was found.
	Into any
}

// Version is a version of an operator.
type Version[Option, Cluster any] struct {
	Fields  map[string]any // of the request
	Options []Option
	// Prepare is called in each trial before the operator starts there, and returns the function that runs it. What fails the trial after that is told to fail.
	Prepare func(t *testing.T, fail func(text string), c Cluster) (run func(context.Context, Cluster) error, err error)
}

// Run is a test that is run again and again.
type Run[Option, Cluster any] struct {
	Fields  map[string]any // of the request
	Options []Option
	// Body runs the test once, in a bubble, and reports whether it has skipped itself. cleanUp is called when the controllers have ended.
	Body func(t *testing.T, run PlayedRun[Cluster]) (cleanUp func(), skipped bool)
}

// PlayedRun is a run of a test.
type PlayedRun[Cluster any] interface {
	// Cluster returns the cluster of the run, whose methods fail t.
	Cluster(t testing.TB) Cluster
	// Control has the host call start whenever a controller begins, with a cluster as the user of a token sees it.
	Control(name, token string, start func(context.Context, Cluster) error) (RunState, error)
	// Wait lets time pass.
	Wait(d time.Duration) (RunState, error)
	// Log logs a text.
	Log(failed bool, text string) (RunState, error)
}

// RunState is the state of a run after an action of the test.
type RunState struct {
	Failed bool // the run has failed
	Fatal  bool // the test has to end
}
