package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/manifests"
	"github.com/fakecluster/fakecluster/internal/scenario/record"
	"github.com/fakecluster/fakecluster/kustomize"
)

// session records the requests of clients for serve --record.
type session struct {
	record.Recorder
	from record.InitialState
	// built are the files with the objects of kustomizations that the scenario refers to.
	built []builtFile
}

// begin checks the flags that the scenario of the session must reproduce.
func (f *serveFlags) begin(cmd *cobra.Command, controllers []fakecluster.Controller) (*session, error) {
	for _, flag := range []string{"data", "snapshot", "objects"} {
		if cmd.Flags().Changed(flag) {
			return nil, usageError{fmt.Errorf("--record and --%s exclude each other, because a scenario cannot begin with the content of that file; use --manifests, which can be recorded", flag)}
		}
	}
	if _, err := os.Lstat(f.record); err == nil {
		return nil, fmt.Errorf("--record: %s exists already and is not overwritten: remove it, or name another file", f.record)
	}
	folder, err := filepath.Abs(filepath.Dir(f.record))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(folder); err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	s := &session{}
	s.from.Cluster.Cluster = f.cluster
	if cmd.Flags().Changed("controllers") || f.garbage {
		s.from.Cluster.Controllers = []string{}
		for _, controller := range controllers {
			s.from.Cluster.Controllers = append(s.from.Cluster.Controllers, string(controller))
		}
	}
	paths, err := s.files(f)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		if relative, err := filepath.Rel(folder, absolute); err == nil {
			absolute = filepath.ToSlash(relative)
		}
		s.from.Files = append(s.from.Files, absolute)
	}
	return s, nil
}

// files returns the paths of the manifests with which the scenario begins. The files of kustomizations are
// written at the end of the session.
func (s *session) files(f *serveFlags) (paths []string, err error) {
	for _, path := range f.cluster.CRDPaths {
		files, err := definitionsIn(path)
		if err != nil {
			return nil, err
		}
		paths = append(paths, files...)
	}
	paths = append(paths, f.cluster.Manifests...) // a scenario creates the manifests of a folder in the same order
	for i, folder := range f.cluster.Kustomize {
		objects, err := kustomize.Build(folder)
		if err != nil {
			return nil, fmt.Errorf("--kustomize: %w", err)
		}
		text, err := inYAML(objects)
		if err != nil {
			return nil, err
		}
		to := strings.TrimSuffix(f.record, filepath.Ext(f.record)) + fmt.Sprintf("-kustomize%d.yaml", i+1)
		if _, err := os.Lstat(to); err == nil {
			return nil, fmt.Errorf("--record: %s exists already and is not overwritten: remove it, or name another file", to)
		}
		s.built = append(s.built, builtFile{to, text})
		paths = append(paths, to)
	}
	return paths, nil
}

// builtFile is a file with the objects of a kustomization.
type builtFile struct {
	path string
	text []byte
}

// inYAML returns objects as documents of YAML, in the order that installing needs.
func inYAML(objects []runtime.Object) ([]byte, error) {
	slices.SortStableFunc(objects, func(a, b runtime.Object) int {
		return manifests.InstallStep(a.GetObjectKind().GroupVersionKind().GroupKind()) - manifests.InstallStep(b.GetObjectKind().GroupVersionKind().GroupKind())
	})
	var text []byte
	for _, object := range objects {
		document, err := yaml.Marshal(object)
		if err != nil {
			return nil, err
		}
		text = append(append(text, "---\n"...), document...)
	}
	return text, nil
}

// definitionsIn returns the manifest files at a path that contain a CustomResourceDefinition, because --crds
// ignores all others.
func definitionsIn(path string) (files []string, err error) {
	paths, err := manifests.Find(path)
	if err != nil {
		return nil, err
	}
	for _, file := range paths {
		read, err := manifests.Read(file)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(read, func(m manifests.Manifest) bool { return m.Kind == "CustomResourceDefinition" }) {
			files = append(files, file)
		}
	}
	return files, nil
}

// end writes the session as a scenario and plays it once.
func (s *session) end(path string, stderr io.Writer) error {
	for _, file := range s.built {
		if err := os.WriteFile(file.path, file.text, 0o600); err != nil {
			return fmt.Errorf("--record: %w", err)
		}
	}
	steps, failures, err := s.Write(context.Background(), path, s.from)
	if err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	fmt.Fprintf(stderr, "%s: %d steps\n", path, steps)
	if left := s.Omitted(); left > 0 {
		fmt.Fprintf(stderr, "%s: the session was too long: the last %d requests are not recorded\n", path, left)
	}
	for _, failure := range failures {
		fmt.Fprintln(stderr, failure)
	}
	if failures != nil {
		return errors.New("--record: the scenario does not pass, because a step has another result when it is played again: edit the expectation of that step")
	}
	return nil
}
