package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/regularfile"
	"github.com/fakecluster/fakecluster/internal/scenario/record"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// session is what serve --record writes.
type session struct {
	record.Recorder
	from record.InitialState
}

// begin checks the flags that the scenario of the session must reproduce.
func (f *serving) begin(cmd *cobra.Command, controllers []fakecluster.Controller) (*session, error) {
	for _, flag := range []string{"data", "snapshot", "objects"} {
		if cmd.Flags().Changed(flag) {
			return nil, usageError{fmt.Errorf("--record and --%s exclude each other: a scenario cannot begin with the content of that file; use --manifests, which can be recorded", flag)}
		}
	}
	if _, err := os.Lstat(f.record); err == nil {
		return nil, fmt.Errorf("--record: %s exists already: not overwriting it", f.record)
	}
	folder, err := filepath.Abs(filepath.Dir(f.record))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(folder); err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	s := &session{}
	s.from.Cluster = syntax.ClusterOptions{
		LegacyAPIs: f.legacyAPIs, RuntimeConfig: f.runtimeConfig,
		WithAdmissionPlugins: f.enablePlugins, WithoutAdmissionPlugins: f.disablePlugins,
	}
	if cmd.Flags().Changed("controllers") || f.garbage {
		s.from.Cluster.Controllers = []string{}
		for _, controller := range controllers {
			s.from.Cluster.Controllers = append(s.from.Cluster.Controllers, string(controller))
		}
	}
	for _, path := range append(append([]string{}, f.crds...), f.manifests...) {
		manifests, err := regularfile.Manifests(path)
		if err != nil {
			return nil, err
		}
		for _, at := range manifests {
			if at, err = filepath.Abs(at); err != nil {
				return nil, err
			}
			if relative, err := filepath.Rel(folder, at); err == nil {
				at = filepath.ToSlash(relative)
			}
			s.from.Files = append(s.from.Files, at)
		}
	}
	return s, nil
}

// end writes the session as a scenario and plays it once.
func (s *session) end(path string, stderr io.Writer) error {
	steps, failures, err := s.Write(context.Background(), path, s.from)
	if err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	fmt.Fprintf(stderr, "%s: %d steps\n", path, steps)
	if left := s.Omitted(); left > 0 {
		fmt.Fprintf(stderr, "%s: the session was too long: the last %d requests are left out\n", path, left)
	}
	for _, failure := range failures {
		fmt.Fprintln(stderr, failure)
	}
	if failures != nil {
		return errors.New("--record: the scenario does not pass: a step has another result when it is played again")
	}
	return nil
}
