package files

import (
	"errors"
	"io/fs"
	"syscall"
)

// limit limits what the files of a tree use.
type limit struct {
	bytes    int64  // zero: there is none
	exceeded func() // nil: a write that exceeds the limit fails
}

// Limit limits what the files of the tree use, as [Tree.Usage] counts it. A write that would exceed it fails, as in a full file system, and leaves the
// file as it was; with exceeded it does not fail, and calls exceeded, while the tree is locked. What programs write to the folder on disk is not limited; it
// counts for the next write.
func (t *Tree) Limit(bytes int64, exceeded func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limit = limit{bytes, exceeded}
}

// block is in what units files use space.
const block = 4096

// Blocks returns how much space a file of a size uses.
func Blocks(bytes int64) int64 { return (bytes + block - 1) / block * block }

// Usage returns how many bytes the files of the tree use: each uses whole blocks of 4 KiB.
func (t *Tree) Usage() (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.usage("")
}

// usage returns what the files use except one.
func (t *Tree) usage(except string) (used int64, err error) {
	err = fs.WalkDir(unlocked{t}, ".", func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a program has removed it meanwhile
		}
		if err != nil || name == except || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			used += Blocks(info.Size())
		} else if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	})
	return used, err
}

// checkLimit checks whether a file may be written. The caller holds the lock.
func (t *Tree) checkLimit(name string, size int64) error {
	if t.limit.bytes == 0 {
		return nil
	}
	used, err := t.usage(name)
	switch {
	case err != nil:
		return err
	case used+Blocks(size) <= Blocks(t.limit.bytes):
		return nil
	case t.limit.exceeded == nil:
		return &fs.PathError{Op: "write", Path: name, Err: syscall.ENOSPC}
	}
	t.limit.exceeded()
	return nil
}
