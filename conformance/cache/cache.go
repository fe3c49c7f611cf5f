// Package cache is the folder where the parts of conformance keep what they have built and copied
// from run to run.
package cache

import (
	"os"
	"path/filepath"
	"syscall"
)

// Folder returns the folder, which is one for each user: ~/.cache/fakecluster-conformance on Linux.
func Folder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "fakecluster-conformance")
	return cache, os.MkdirAll(cache, 0o755)
}

// Lock waits until no other run holds the file, which it makes. Whoever closes the file gives the
// lock back.
func Lock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
