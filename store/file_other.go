//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package store

import (
	"errors"
	"os"
	"runtime"
)

// errNoLock is the error of OpenFile where a process cannot lock a file so that the lock ends with it.
var errNoLock = errors.New("a cluster cannot be kept in a file on " + runtime.GOOS)

// openRegular opens a regular file.
func openRegular(path string, flag int) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	return os.OpenFile(path, flag, 0o600)
}

func lock(*os.File) error { return errNoLock }

func openLocked(string) (*os.File, error) { return nil, errNoLock }
