package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
)

// writeKubeconfig writes content, which contains a token, to a file that only its owner can
// read. The function that it returns removes the file if it did not exist before and still has
// the content: another cluster may have written its own since.
//
// It does not overwrite a file that is not a kubeconfig of fakecluster. Otherwise a user who types
// --kubeconfig ~/.kube/config would lose access to all other clusters. It does not follow links, and writes
// to regular files only. It writes a temporary file beside the file and renames it, so that no program reads
// an incomplete file.
func writeKubeconfig(path string, content []byte) (remove func(), err error) {
	isNew, err := writeOwn(path, content, "a kubeconfig of fakecluster", ours)
	if err != nil || !isNew {
		return func() {}, err
	}
	return func() { removeKubeconfig(path, content) }, nil
}

// writeOwn writes content to a file, and reports whether the file is new. It replaces an existing file only
// if the file is empty or ours accepts its content. It checks that right before it replaces the file.
func writeOwn(path string, content []byte, what string, ours func([]byte) bool) (isNew bool, err error) {
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return false, err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".fakecluster-") // with mode 0600
	if err != nil {
		return false, err
	}
	defer os.Remove(file.Name()) // unless it has been renamed
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err != nil {
		return false, err
	}
	if isNew, err = replaceable(path, what, ours); err != nil {
		return false, err
	}
	if isNew {
		// Unlike a rename, a link never replaces a file that another process has made since.
		if err := os.Link(file.Name(), path); err == nil || errors.Is(err, fs.ErrExist) {
			return true, err
		}
	}
	return isNew, os.Rename(file.Name(), path)
}

// replaceable returns an error for a file that must not be replaced, and reports whether the file does not exist.
func replaceable(path, what string, ours func([]byte) bool) (isNew bool, err error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%s exists, is not a regular file, and is not overwritten: name another file", path)
	}
	before, err := os.ReadFile(path)
	if err == nil && len(before) > 0 && !ours(before) {
		err = fmt.Errorf("%s exists, is not %s, and is not overwritten: remove it, or name another file", path, what)
	}
	return false, err
}

// removeKubeconfig removes the file if it still has the content.
func removeKubeconfig(path string, content []byte) {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return
	}
	if current, err := os.ReadFile(path); err == nil && bytes.Equal(current, content) {
		os.Remove(path)
	}
}

// ours reports whether content is a kubeconfig of fakecluster and nothing else.
func ours(content []byte) bool {
	const name = "fakecluster"
	config, err := clientcmd.Load(content)
	if err != nil {
		return false
	}
	_, cluster := config.Clusters[name]
	return cluster && len(config.Clusters) == 1 && len(config.AuthInfos) == 1 && len(config.Contexts) == 1
}
