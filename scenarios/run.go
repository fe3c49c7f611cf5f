package scenarios

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/scenario/player"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// RunOption is an option of [Run].
type RunOption func(*runOptions)

type runOptions struct {
	controller player.Controller
	cluster    []fakecluster.Option
	realTime   bool
	live       player.Live
	reader     syntax.Reader
}

// WithController runs a controller beside each scenario: a manager, with cfg as its configuration, until ctx
// ends. It is started after the setup, and has a minute to return after ctx has ended. The scenario fails if
// the controller returns before ctx has ended, or if it writes endlessly: 1000 times within a second of its
// time.
//
// It runs in a bubble of testing/synctest: create all channels, timers and clients in the
// function. It must not open sockets, and controller-runtime serves metrics by default. The module
// controllerruntime runs a manager with the right options:
//
//	scenarios.WithController(func(ctx context.Context, cfg *rest.Config) error {
//		return controllerruntime.Start(ctx, cfg, setup)
//	})
//
// A goroutine that waits for a socket stops the time of the bubble: after three seconds the test panics with
// the reason and the stack of that goroutine. The controller must not use leader election, because that
// writes all the time.
//
// Default: none.
func WithController(run func(ctx context.Context, cfg *rest.Config) error) RunOption {
	return func(o *runOptions) { o.controller = run }
}

// WithOptions adds options to the cluster of each scenario, such as [fakecluster.WithCRDPaths]. They come
// after those of the scenario. The option may be given more than once.
//
// Default: none.
func WithOptions(options ...fakecluster.Option) RunOption {
	return func(o *runOptions) { o.cluster = append(o.cluster, options...) }
}

// WithWorkloads plays scenarios with the field workloads: controllers, a scheduler, and nodes with their pods, as package
// workloads runs them. Tests without such scenarios do not have to compile that package:
//
//	scenarios.Run(t, "testdata/scenarios", scenarios.WithWorkloads(workloads.FromYAML))
//
// run gets the value of the field workloads as config. The scenario calls Close of the result at its end; an
// error of run or Close fails the scenario.
//
// Default: a scenario with workloads fails.
func WithWorkloads(run func(c *fakecluster.Cluster, config []byte) (io.Closer, error)) RunOption {
	return func(o *runOptions) { o.live = run }
}

// WithKustomize plays scenarios that create the objects of kustomizations. Tests without such scenarios do not have to
// compile kustomize's library:
//
//	scenarios.Run(t, "testdata/scenarios", scenarios.WithKustomize(kustomize.Build))
//
// build returns the objects of the kustomization in a folder. Its error is a mistake in the scenario.
//
// Default: a scenario with a kustomization fails the test.
func WithKustomize(build func(folder string) ([]runtime.Object, error)) RunOption {
	return func(o *runOptions) { o.reader.Kustomize = build }
}

// InRealTime plays all scenarios outside of bubbles. Those with advance or settle are skipped, and
// those with consistently for more than five minutes.
//
// Default: scenarios that wait, and all with WithController, are played in bubbles of
// testing/synctest, whose time advances when all goroutines wait.
func InRealTime() RunOption {
	return func(o *runOptions) { o.realTime = true }
}

// Run plays the scenarios of a file, of a folder with everything below it, or of the files that a glob
// pattern matches (see [filepath.Match]). Each is a parallel subtest with a cluster of its own in this
// process. The subtests are named FILE/SCENARIO, or FILE/SCENARIO/CASE, for "go test -run". A pattern that
// matches no scenario, or a mistake in one of them, fails the test at once.
//
// The log of a failed scenario also reports what happened in its cluster, and FAKECLUSTER_REPORT=DIR writes a page about it, as for
// a failed test of [fakecluster.Start].
func Run(t *testing.T, pattern string, options ...RunOption) {
	t.Helper()
	var o runOptions
	for i, option := range options {
		if option == nil {
			t.Fatalf("scenarios.Run: option %d is nil", i+1)
		}
		option(&o)
	}
	loaded, err := o.reader.Load(pattern)
	if err != nil {
		t.Fatal(err)
	}
	with := player.Player{Controller: o.controller, Live: o.live, Start: player.InProcessWith(o.cluster...)}
	bases := player.SharedClusters(loaded)
	play := func(t *testing.T, s *syntax.Scenario) {
		t.Parallel()
		with := with
		if !o.realTime {
			with.Bubble = player.Bubble(t)
		}
		with = player.Supervised(with, s, func(message string) { panic(message) })
		with.Explanation = player.Explanation{
			Findings: true,
			Folder:   os.Getenv("FAKECLUSTER_REPORT"),
			Title:    func(*syntax.Scenario) string { return t.Name() },
		}
		result := with.Play(t.Context(), s, bases[s.Cases])
		switch {
		case result.Failure != nil:
			t.Error(result.Failure)
			for _, text := range result.Explained {
				t.Log(text)
			}
		case result.Skipped != "":
			t.Skip(result.Skipped)
		}
		for _, line := range result.Log {
			t.Log(line)
		}
	}
	for i, s := range loaded {
		name := filepath.ToSlash(s.File) + "/" + s.Name
		switch {
		case s.Cases == nil:
			t.Run(name, func(t *testing.T) { play(t, s) })
		case i == 0 || loaded[i-1].Cases != s.Cases:
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				t.Cleanup(func() {
					if err := bases[s.Cases].Close(); err != nil {
						t.Errorf("closing the cluster of the setup: %v", err)
					}
				})
				for _, c := range loaded[i:][:s.Cases.Count] {
					t.Run(c.Case, func(t *testing.T) { play(t, c) })
				}
			})
		}
	}
}
