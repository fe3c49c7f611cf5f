package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/discovery"
	"github.com/fakecluster/fakecluster/internal/serverflags"
)

// kubeAPIServer is the command under the name kube-apiserver: the bare API server, without
// controllers, as its flags say. It returns the exit status.
func kubeAPIServer(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags, err := serverflags.Parse(args)
	switch {
	case errors.Is(err, serverflags.ErrHelp):
		fmt.Fprintf(stdout, apiServerHelp, serverflags.Usage())
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "Error: %v\n", err)
		return 1
	case flags.Version():
		fmt.Fprintln(stdout, "Kubernetes", discovery.Version.GitVersion)
		return 0
	}
	// What a real server does without these flags.
	for _, usual := range [][2]string{{"secure-port", "6443"}, {"bind-address", "127.0.0.1"}, {"authorization-mode", "AlwaysAllow"}, {"anonymous-auth", "true"}} {
		if !flags.Given(usual[0]) {
			args = append([]string{"--" + usual[0] + "=" + usual[1]}, args...)
		}
	}
	cluster, err := fakecluster.New(fakecluster.WithControllers(), fakecluster.WithAPIServerFlags(args...))
	if err != nil {
		fmt.Fprintf(stderr, "Error: %s\n", strings.TrimPrefix(err.Error(), "WithAPIServerFlags: "))
		return 1
	}
	fmt.Fprintln(stderr, "Serving securely on", strings.TrimPrefix(cluster.URL(), "https://"))
	<-ctx.Done()
	if err := cluster.Close(); err != nil {
		fmt.Fprintf(stderr, "Error: %v\n", err)
		return 1
	}
	return 0
}

const apiServerHelp = `kube-apiserver is fakecluster under another name, for test suites that start a
control plane: the API server alone, with nothing behind it. What is written to it
is gone with the process. It serves HTTPS on a loopback address until SIGINT or
SIGTERM, and ends with the process that started it in a process group of its own, as
envtest does. Without --secure-port, --bind-address, --authorization-mode and
--anonymous-auth it is as with 6443, 127.0.0.1, AlwaysAllow and true.

Usage:
  kube-apiserver [flags]

%s
`
