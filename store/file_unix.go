//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package store

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// errInUse is the error of a data file that another store has open.
var errInUse = errors.New("another fakecluster has it open")

// openRegular opens a regular file, or creates one that only its owner can read. It does not follow a
// symbolic link and does not block on a pipe.
func openRegular(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EMLINK) { // the latter on FreeBSD
		return nil, errors.New("it is a symbolic link, which is not followed")
	}
	if err != nil {
		return nil, causeOf(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		_ = f.Close()
		return nil, causeOf(err)
	}
	return f, nil
}

// lock keeps other stores from opening the file. The lock ends with the process, even if that is killed.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errInUse
	}
	if err != nil {
		return fmt.Errorf("locking it: %w", err)
	}
	return nil
}

// openLocked opens and locks a file for a store, and creates it if it does not exist.
func openLocked(path string) (*os.File, error) {
	for {
		f, err := openRegular(path, os.O_RDWR|os.O_CREATE)
		if err != nil {
			return nil, err
		}
		if err := lock(f); err != nil {
			_ = f.Close()
			return nil, err
		}
		// The store that had it open may have replaced it by another file before we had the
		// lock.
		info, err := f.Stat()
		if err != nil {
			_ = f.Close()
			return nil, causeOf(err)
		}
		if there, err := os.Lstat(path); err == nil && os.SameFile(info, there) {
			return f, nil
		}
		_ = f.Close()
	}
}
