package syntax

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/manifests"
)

// Reader reads scenarios.
type Reader struct {
	// Kustomize builds the objects of the kustomization in a folder. If it is nil, a setup with a kustomization is a mistake.
	Kustomize func(folder string) ([]runtime.Object, error)
}

// Load is Load of a Reader without Kustomize.
func Load(patterns ...string) ([]*Scenario, error) { return Reader{}.Load(patterns...) }

// Load reads the scenarios of files, of folders with everything below them, and of glob patterns as in [filepath.Match].
// In a folder it reads the files with the extension .yaml or .yml, in lexical order. It reads each file once.
//
// Load checks the scenarios. Its error lists all mistakes that can be found without a cluster, one
// on each line, with file and line. A pattern without scenarios is a mistake, and so is a YAML
// file that is not a scenario and not used by one.
func (r Reader) Load(patterns ...string) ([]*Scenario, error) {
	var mistakes []error
	found := map[string][]*File{} // by pattern
	loaded := map[string]*File{}  // by path
	var files []*File             // in order
	for _, pattern := range patterns {
		paths, err := pathsOf(pattern)
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		found[pattern] = []*File{}
		for _, path := range paths {
			f := loaded[path]
			if f == nil {
				f = r.load(path)
				loaded[path] = f
				files = append(files, f)
			}
			found[pattern] = append(found[pattern], f)
		}
	}
	reportUnusedFiles(files)

	var read []*Scenario
	for _, f := range files {
		read = append(read, f.Scenarios...)
		mistakes = append(mistakes, f.mistakes...)
	}
	for _, pattern := range patterns {
		if files, ok := found[pattern]; ok && !slices.ContainsFunc(files, (*File).isRelevant) {
			mistakes = append(mistakes, fmt.Errorf("%s: no scenario found", pattern))
		}
	}
	if len(patterns) == 0 {
		mistakes = append(mistakes, errors.New("no scenario found: no path was given"))
	}
	if err := errors.Join(withoutRepetition(mistakes)...); err != nil {
		return nil, err
	}
	return read, nil
}

// File is a YAML file and what is in it.
type File struct {
	Scenarios []*Scenario
	path      string
	mistakes  []error
	// manifests are the files that the scenarios take manifests from.
	manifests []string
}

// Err returns the mistakes in the file as one error, one on each line; nil: there is none.
func (f *File) Err() error { return errors.Join(withoutRepetition(f.mistakes)...) }

// isRelevant reports whether a file has scenarios or mistakes. Other files contain manifests.
func (f *File) isRelevant() bool { return len(f.Scenarios)+len(f.mistakes) > 0 }

func (r Reader) load(path string) *File {
	data, err := manifests.ReadFile(path)
	if err != nil {
		return &File{path: path, mistakes: []error{err}}
	}
	return r.Parse(path, data)
}

// reportUnusedFiles reports the files that contain no scenario and are used by none. It reports nothing if a file has
// mistakes, because that file may use the others.
func reportUnusedFiles(files []*File) {
	if slices.ContainsFunc(files, func(f *File) bool { return len(f.mistakes) > 0 }) {
		return
	}
	used := map[string]bool{}
	for _, f := range files {
		for _, manifest := range f.manifests {
			used[absolute(manifest)] = true
		}
	}
	for _, f := range files {
		if !f.isRelevant() && !used[absolute(f.path)] {
			f.mistakes = append(f.mistakes, fmt.Errorf("%s: this file does not contain a scenario, and no scenario uses it", Position{File: f.path, Line: 1}))
		}
	}
}

// absolute makes paths comparable. Without a working folder, they stay relative.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path)
}

// withoutRepetition returns the mistakes, each of them once: a mistake in a manifest is found in each
// scenario that uses it.
func withoutRepetition(mistakes []error) []error {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(mistakes), func(err error) bool {
		again := seen[err.Error()]
		seen[err.Error()] = true
		return again
	})
}

// pathsOf returns the paths of the files that a pattern matches.
func pathsOf(pattern string) ([]string, error) {
	if _, err := os.Stat(pattern); err == nil {
		return pathsBelow(pattern)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	if len(matches) == 0 {
		return nil, fmt.Errorf("%s: no such file or folder", pattern)
	}
	var paths []string
	for _, match := range matches {
		below, err := pathsBelow(match)
		if err != nil {
			return nil, err
		}
		paths = append(paths, below...)
	}
	return paths, nil
}

// pathsBelow returns root if it is a file, whatever its name, and the YAML files in
// it and below if it is a folder.
func pathsBelow(root string) ([]string, error) {
	root = filepath.Clean(root)
	files, err := manifests.Files(root)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, path := range files {
		if ext := filepath.Ext(path); path == root || ext == ".yaml" || ext == ".yml" {
			paths = append(paths, path)
		}
	}
	return paths, nil
}
