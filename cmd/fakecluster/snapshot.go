package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/store"
)

func snapshotCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "snapshot [flags] FILE",
		Short: "Write a cluster to a file, as the start of tests and of serve",
		Long: `Create the cluster that the flags describe, and write it to a file, readable by you
alone, or to stdout for the file "-". Tests start with it by WithSnapshot, and serve by
--snapshot. It contains the cluster's objects, definitions and history, including all
Secrets, and no credentials of the cluster itself.

--snapshot may name the file of serve --data, even while serve runs: its content so far
is copied.`,
		Example: `  fakecluster snapshot --manifests deploy/ testdata/deployed.snapshot
  fakecluster snapshot --snapshot cluster.data testdata/found.snapshot
  fakecluster serve --snapshot testdata/deployed.snapshot`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.take(cmd, args[0]); err != nil {
				return fmt.Errorf("snapshot: %w", err)
			}
			return nil
		},
	}
	f.describe(cmd.Flags())
	return cmd
}

// take creates the cluster and writes it to a file.
func (f *serveFlags) take(cmd *cobra.Command, path string) error {
	cluster, err := interruptible(cmd.Context(), "the cluster was made", func() (*fakecluster.Cluster, error) {
		options, err := f.options(cmd)
		if err != nil {
			return nil, err
		}
		return fakecluster.New(append(options, fakecluster.InProcess())...)
	}, func(c *fakecluster.Cluster) { _ = c.Close() })
	if err != nil {
		return err
	}
	var content bytes.Buffer
	err = cluster.Snapshot(&content)
	if closing := cluster.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	if path == "-" {
		_, err = content.WriteTo(cmd.OutOrStdout())
		return err
	}
	_, err = writeOwn(path, content.Bytes(), "a snapshot of fakecluster", func(before []byte) bool {
		_, err := store.ReadSnapshot(bytes.NewReader(before))
		return err == nil
	})
	return err
}

// readSnapshot reads a snapshot, or the complete part of a data file.
func readSnapshot(path string) (io.Reader, error) {
	snap, err := store.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	err = snap.Write(&content, snap.Meta())
	return &content, err
}
