package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fakecluster/fakecluster/fakecluster"
)

func serveCommand() *cobra.Command {
	var (
		kubeconfig        string
		crds              []string
		legacyAPIs        bool
		garbageCollection bool
	)
	cmd := &cobra.Command{
		Use:   "serve [--kubeconfig FILE] [--crds PATH]... [--legacy-apis] [--garbage-collection]",
		Short: "Serve a cluster until SIGINT or SIGTERM",
		Long: `Serve a cluster on a free loopback port until SIGINT or SIGTERM, and then exit
with status 0. Nothing of the cluster is kept.

As soon as it answers, the one line "ready URL" is printed on stdout. Clients get in
with the kubeconfig, which holds the URL and the cluster's token:

  fakecluster serve --kubeconfig cluster.kubeconfig &
  kubectl --kubeconfig cluster.kubeconfig get namespaces`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options := []fakecluster.Option{fakecluster.WithCRDPaths(crds...)}
			if legacyAPIs {
				options = append(options, fakecluster.WithLegacyAPIs())
			}
			if garbageCollection {
				options = append(options, fakecluster.WithControllers(append(fakecluster.DefaultControllers(), fakecluster.GarbageCollector)...))
			}
			if err := serve(cmd, kubeconfig, options); err != nil {
				return fmt.Errorf("serve: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", `write a kubeconfig to this file, readable by you alone, before "ready";
it is removed at the end, unless the file was there before
(only an empty file or an earlier kubeconfig of fakecluster is overwritten)`)
	cmd.Flags().StringArrayVar(&crds, "crds", nil, "a file or folder of CustomResourceDefinitions to begin with; may be repeated")
	cmd.Flags().BoolVar(&legacyAPIs, "legacy-apis", false, "serve CustomResourceDefinitions in apiextensions.k8s.io/v1beta1, too")
	cmd.Flags().BoolVar(&garbageCollection, "garbage-collection", false, "delete dependents with their owners, as kube-controller-manager does")
	return cmd
}

func serve(cmd *cobra.Command, kubeconfig string, options []fakecluster.Option) (err error) {
	cluster, err := fakecluster.New(options...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	if cmd.Flags().Changed("kubeconfig") {
		content, err := cluster.Kubeconfig()
		if err != nil {
			return err
		}
		remove, err := writeKubeconfig(kubeconfig, content)
		if err != nil {
			return fmt.Errorf("kubeconfig: %w", err)
		}
		defer remove()
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), "ready", cluster.URL()); err != nil {
		return err
	}
	<-cmd.Context().Done()
	return nil
}

// writeKubeconfig writes content, which has a token in it, to a file that only its owner can
// read. The function that it returns removes the file again if it did not exist before.
//
// It does not overwrite a file that is not a kubeconfig of fakecluster. Otherwise a user who
// types --kubeconfig ~/.kube/config would lose the access to all other clusters.
func writeKubeconfig(path string, content []byte) (remove func(), err error) {
	before, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		remove = func() { os.Remove(path) }
	case err != nil:
		return nil, err
	case len(before) > 0 && !ours(before):
		return nil, fmt.Errorf("%s exists and is not a kubeconfig of fakecluster: not overwriting it", path)
	default:
		remove = func() {}
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	err = file.Chmod(0o600) // WriteFile does not change the mode of a file that exists
	if err == nil {
		_, err = file.Write(content)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		remove()
		return nil, err
	}
	return remove, nil
}

// ours tells whether content is a kubeconfig of fakecluster and nothing else.
func ours(content []byte) bool {
	const name = "fakecluster"
	config, err := clientcmd.Load(content)
	if err != nil {
		return false
	}
	_, cluster := config.Clusters[name]
	return cluster && len(config.Clusters) == 1 && len(config.AuthInfos) == 1 && len(config.Contexts) == 1
}
