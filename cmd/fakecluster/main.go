// Command fakecluster is the embedded Kubernetes API server for the shell. It serves a cluster
// to kubectl and other clients, and plays scenario files.
//
//	fakecluster serve [--kubeconfig FILE] [--crds PATH]...
//	fakecluster run PATH...
//
// Both exit with status 0 on success. On failure, also for wrong flags and paths, they exit with
// status 1 and print the reason to stderr.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends ctx. A second one ends the process.
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs the command of args until it is done or ctx ends, and returns the exit status.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:   "fakecluster",
		Short: "A Kubernetes API server for tests, in one process",
		// Errors are printed once, below. The usage of a command is printed by --help.
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddCommand(serveCommand(), runCommand())
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if !errors.Is(err, errFailed) {
		fmt.Fprintln(stderr, "fakecluster:", err)
	}
	return 1
}
