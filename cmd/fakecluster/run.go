package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/scenarios"
)

// errFailed says that scenarios were played and failed. It is not printed: the log shows the
// failures, and its last line is the summary.
var errFailed = errors.New("scenarios failed")

func runCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "run PATH...",
		Short: "Play scenario files",
		Long:  runManual(),
		Example: `  fakecluster run scenarios/
  fakecluster run 'scenarios/*/create*.yaml'`,
		Args: func(_ *cobra.Command, paths []string) error {
			if len(paths) == 0 {
				return errors.New("run: no scenarios given; name a file, a folder or a glob")
			}
			return nil
		},
		RunE: run,
	}
}

func run(cmd *cobra.Command, paths []string) error {
	all, err := scenarios.Load(paths...)
	if err != nil {
		return fmt.Errorf("run: nothing was played:\n%w", err)
	}
	// Libraries log refused requests. A scenario says which refusals it expects, so the
	// log is dropped.
	klog.SetLogger(logr.Discard())
	reporter := scenarios.NewReporter(cmd.OutOrStdout())
	scenarios.PlayAll(cmd.Context(), all, scenarios.InProcess, reporter.Report)
	if !reporter.Summary() {
		return errFailed
	}
	return nil
}

func runManual() string {
	var b strings.Builder
	b.WriteString(`Play the scenarios in files, in folders with all that is below them, and in what
globs match, each on a cluster of its own in this process.

Each scenario that passes is a line, one that fails shows the step's file and
line, the object and the difference (-want +got). The last line is "N passed,
N failed". The exit status is 0 if all passed. If a path or a scenario has a
mistake in it, nothing is played.

A scenario has a name (scenario:), maybe a setup (manifests to create), and
steps. A step is one request, with expect: (what the answer has, as a subset)
or error: (how it is refused):

`)
	for _, s := range scenarios.Steps() {
		fmt.Fprintf(&b, "  %-17s %s\n", s.Name+":", s.Argument)
	}
	b.WriteString(`
The whole of it: go doc github.com/fakecluster/fakecluster/scenarios`)
	return b.String()
}
