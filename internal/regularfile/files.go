package regularfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Manifests returns the manifests in a folder and in those below it, as Files returns files, or the path
// alone if it is a file. They end in .yaml, .yml or .json, and are not for kustomize.
func Manifests(path string) ([]string, error) {
	files, err := Files(path)
	return slices.DeleteFunc(files, func(file string) bool { return file != path && !isManifest(file) }), err
}

func isManifest(path string) bool {
	switch filepath.Base(path) {
	case "kustomization.yaml", "kustomization.yml":
		return false
	}
	switch filepath.Ext(path) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// Files returns the files in a folder and in those below it, in the order of their names, or the path
// alone if it is a file. The path may be a link to a folder, as build tools make them; links to folders
// below it are not followed. The error is the system's.
func Files(path string) (files []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	folder, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(folder, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		below, err := filepath.Rel(folder, at)
		files = append(files, filepath.Join(path, below))
		return err
	})
	return files, err
}
