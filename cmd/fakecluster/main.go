// Command fakecluster is the embedded Kubernetes API server for the shell. It serves a cluster
// to kubectl and other clients, and plays scenario files.
//
//	fakecluster serve [--kubeconfig FILE] [--crds PATH]...
//	fakecluster run PATH...
//	fakecluster envtest
//
// Under the names kube-apiserver, etcd and kubectl it is a part of the control plane that envtest
// starts.
//
// All exit with status 0 on success. On failure, also for wrong flags and paths, they exit with
// status 1 and print the reason to stderr.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends ctx. A second one ends the process.
	context.AfterFunc(ctx, stop)
	os.Exit(as(ctx, os.Args[0], os.Args[1:], os.Stdout, os.Stderr))
}

// as runs the command that the process is called by, and returns the exit status. Under its own
// name, or any other, it is fakecluster.
func as(ctx context.Context, name string, args []string, stdout, stderr io.Writer) int {
	switch strings.TrimSuffix(filepath.Base(name), ".exe") {
	case kubeAPIServerName:
		return kubeAPIServer(withParent(ctx), args, stdout, stderr)
	case etcdName:
		return etcd(withParent(ctx), args, stdout, stderr)
	case kubectlName:
		return kubectl(ctx, args, stdout, stderr)
	default:
		return execute(ctx, args, stdout, stderr)
	}
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
	root.AddCommand(serveCommand(), runCommand(), envtestCommand())
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
