package manifests

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Find returns the manifests in a folder and in those below it, as Files returns files, or the path alone if it is a
// file. Their names end in .yaml, .yml or .json. Find leaves out kustomizations, and the patches and configurations that
// these name.
func Find(path string) ([]string, error) {
	files, err := Files(path)
	var patches []string
	for _, file := range files {
		if file != path && isKustomization(file) {
			patches = append(patches, patchesOf(file)...)
		}
	}
	return slices.DeleteFunc(files, func(file string) bool {
		return file != path && (!isManifest(file) || slices.Contains(patches, file))
	}), err
}

func isManifest(path string) bool {
	switch filepath.Ext(path) {
	case ".yaml", ".yml", ".json":
		return !isKustomization(path)
	}
	return false
}

// Files returns the files in a folder and in those below it, in the order of their names, or the path alone if it is a
// file. The path may be a link to a folder, as build tools make them, but links to folders below it are not followed.
// The error is that of package os.
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
	err = filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		below, err := filepath.Rel(folder, file)
		files = append(files, filepath.Join(path, below))
		return err
	})
	return files, err
}
