// Command fakecluster is an embedded Kubernetes API server from the shell: it serves a
// cluster to kubectl and other clients, and plays scenario files.
//
//	fakecluster serve [--kubeconfig FILE] [--crds PATH]...
//	fakecluster run PATH...
//
// Both exit with status 0 if all went well and with 1 if anything did not, bad flags and
// paths included; what went wrong is on stderr.
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
	// Once the first signal has ended ctx, a second one ends the process as usual.
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs the command that args say until it is done or ctx ends, and returns the
// exit status.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:   "fakecluster",
		Short: "A Kubernetes API server for tests, in one process",
		// Errors are printed below, once; how a command is used stands in its --help.
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
