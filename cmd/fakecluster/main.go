// Command fakecluster is the embedded Kubernetes API server for the shell. It serves a cluster
// to kubectl and other clients, and plays scenario files.
//
//	fakecluster serve [--kubeconfig FILE] [--data FILE] [--crds PATH]...
//	fakecluster run [--run REGEX] [-q|-v] [--parallel N] [--report junit|json FILE] [--update] [--kubeconfig FILE] PATH...
//	fakecluster snapshot [--snapshot FILE] [--crds PATH]... FILE
//	fakecluster explore merge [--to DIR] [--known DIR]... DIR...
//	fakecluster new scenario FILE
//	fakecluster envtest
//	fakecluster host [--background] [--listen PORT] [--stay]
//	fakecluster version [--output json]
//
// Under the names kube-apiserver, etcd and kubectl it is a part of the control plane that envtest
// starts.
//
// All exit with status 0 on success, 1 on failure, and 2 for a wrong command line, and print the reason to
// stderr.
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

	"github.com/fakecluster/fakecluster/internal/printable"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends ctx. A second one ends the process.
	context.AfterFunc(ctx, stop)
	name, args := os.Args[0], os.Args[1:]
	if len(args) > 0 && (args[0] == "run" || args[0] == "host") {
		inTest(ctx, func(ctx context.Context) int { return runAs(ctx, name, args, os.Stdout, os.Stderr) })
	}
	os.Exit(runAs(ctx, name, args, os.Stdout, os.Stderr))
}

// runAs runs the command that belongs to the name of the program, and returns the exit status. The names
// kube-apiserver, etcd and kubectl are commands of their own; any other name is fakecluster.
func runAs(ctx context.Context, name string, args []string, stdout, stderr io.Writer) int {
	switch strings.TrimSuffix(filepath.Base(name), ".exe") {
	case kubeAPIServerName:
		return kubeAPIServer(withParent(ctx), name, args, stdout, stderr)
	case etcdName:
		return etcd(withParent(ctx), args, stdout, stderr)
	case kubectlName:
		return kubectl(ctx, args, stdout, stderr)
	default:
		return execute(ctx, args, stdout, stderr)
	}
}

// The exit statuses.
const (
	succeeded  = 0
	failed     = 1 // the command could not do its work, or scenarios failed
	wrongUsage = 2
)

// usageError is the error of a wrong command line.
type usageError struct{ error }

// execute runs the command of args until it is done or ctx ends, and returns the exit status.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	started := false // the command line is valid
	root := &cobra.Command{
		Use:   "fakecluster",
		Short: "A Kubernetes API server for tests, in one process",
		Example: `  fakecluster serve --kubeconfig cluster.kubeconfig --crds config/crd
  fakecluster run scenarios/
  KUBEBUILDER_ASSETS=$(fakecluster envtest) go test ./...`,
		Version: thisBuild().Version + ", Kubernetes " + thisBuild().Kubernetes,
		// Errors are printed once, below. The usage of a command is printed by --help.
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			started = true
			return emulateFlag(cmd)
		},
	}
	for _, cmd := range []*cobra.Command{serveCommand(), runCommand(), snapshotCommand(), envtestCommand(), hostCommand()} {
		addKubernetesVersion(cmd)
		root.AddCommand(cmd)
	}
	root.AddCommand(exploreCommand(), newCommand(), versionCommand())
	root.SetArgs(withReports(args))
	root.SetOut(stdout)
	root.SetErr(stderr)
	refuseUnknownTopics(root) // after SetOut: completion keeps the current writer
	err := root.ExecuteContext(ctx)
	if err == nil {
		return succeeded
	}
	if !errors.Is(err, errFailed) {
		fmt.Fprintln(stderr, "fakecluster:", printable.Text(err.Error()))
	}
	if usage := (usageError{}); !started || errors.As(err, &usage) {
		return wrongUsage
	}
	return failed
}

// refuseUnknownTopics makes help and completion fail for unknown topics. Without it, cobra prints the usage
// and succeeds.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, topic []string) error {
				if _, _, err := root.Find(topic); err != nil {
					return fmt.Errorf("help: %w", err)
				}
				return nil
			}
		case "completion":
			cmd.RunE = func(*cobra.Command, []string) error {
				return usageError{errors.New("completion: give a shell: fakecluster completion bash|fish|powershell|zsh")}
			}
		}
	}
}
