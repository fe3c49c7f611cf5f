package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/internal/serverflags"
)

// kubeAPIServer is the command under the name kube-apiserver: the bare API server, without
// controllers, configured by its flags. It returns the exit status. program is the path of the command.
func kubeAPIServer(ctx context.Context, program string, args []string, stdout, stderr io.Writer) int {
	if err := serveAPI(ctx, program, args, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "Error: %v\n", err)
		return failed
	}
	return succeeded
}

func serveAPI(ctx context.Context, program string, args []string, stdout, stderr io.Writer) error {
	flags, err := serverflags.Parse(args)
	switch {
	case errors.Is(err, serverflags.ErrHelp):
		fmt.Fprintf(stdout, apiServerHelp, serverflags.Usage())
		return nil
	case err != nil:
		return err
	case flags.Version():
		fmt.Fprintln(stdout, "Kubernetes", release.Info().GitVersion)
		return nil
	}
	if err := missing(flags); err != nil {
		return err
	}
	if err := emulateAsDropIn(program, flags.EmulatedVersion()); err != nil {
		return fmt.Errorf("--emulated-version: %w", err)
	}
	if err := follow(flags); err != nil {
		return err
	}
	// The defaults of a real server, except that fakecluster listens on a loopback address.
	for _, usual := range [][2]string{{"secure-port", "6443"}, {"bind-address", "127.0.0.1"}, {"authorization-mode", "AlwaysAllow"}, {"anonymous-auth", "true"}, {"etcd-compaction-interval", "5m"}} {
		if !flags.Given(usual[0]) {
			args = append([]string{"--" + usual[0] + "=" + usual[1]}, args...)
		}
	}
	cluster, err := interruptible(ctx, "the server was ready", func() (*fakecluster.Cluster, error) {
		return fakecluster.New(fakecluster.WithControllers(), fakecluster.WithAPIServerFlags(args...))
	}, func(c *fakecluster.Cluster) { _ = c.Close() })
	if err != nil {
		return unwrapped(err)
	}
	fmt.Fprintln(stderr, "Serving securely on", strings.TrimPrefix(cluster.URL(), "https://"))
	<-ctx.Done()
	reportEnd(cluster, "kube-apiserver", stderr)
	return cluster.Close()
}

// missing returns the errors of a real server for missing flags, in its words. fakecluster does not need
// these flags, but a suite that fails on a real server without one must fail here, too.
func missing(flags *serverflags.Flags) error {
	var errs []error
	if len(flags.List("etcd-servers")) == 0 {
		errs = append(errs, errors.New("--etcd-servers must be specified"))
	}
	issuers, signs := flags.List("service-account-issuer"), flags.Text("service-account-signing-key-file") != ""
	if len(issuers) == 0 {
		errs = append(errs, errors.New("service-account-issuer is a required flag"))
	}
	if len(flags.List("service-account-key-file")) == 0 {
		errs = append(errs, errors.New("either `--service-account-key-file` or `--service-account-signing-endpoint` must be set"))
	}
	switch named := len(issuers) > 0 && issuers[0] != ""; {
	case !named && !signs && len(flags.List("api-audiences")) == 0:
		errs = append(errs, errors.New("--service-account-signing-key-file and --service-account-issuer are required flags"))
	case !named || !signs:
		errs = append(errs, errors.New("--service-account-signing-key-file, --service-account-issuer, and --api-audiences should be specified together"))
	}
	return utilerrors.NewAggregate(errs)
}

const apiServerHelp = `kube-apiserver is fakecluster under another name, for test suites that start a
control plane: the API server alone, without controllers. Its objects are lost when
the process ends. It serves HTTPS on a loopback address until SIGINT or
SIGTERM, and ends with the process that started it in a process group of its own, as
envtest does. The defaults are --secure-port=6443, --bind-address=127.0.0.1,
--authorization-mode=AlwaysAllow, --anonymous-auth=true and
--etcd-compaction-interval=5m. Like a real server, it does not start without
--etcd-servers, --service-account-issuer, --service-account-key-file and
--service-account-signing-key-file.

Usage:
  kube-apiserver [flags]

%s
`
