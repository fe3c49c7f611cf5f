package files

import (
	"errors"
	"io/fs"
	"syscall"
)

// limit limits the size of a tree.
type limit struct {
	bytes    int64  // zero: there is none
	exceeded func() // nil: a write that exceeds the limit fails
}

// Limit limits the size of the tree, as [Tree.Usage] counts it. A write that would exceed the limit fails with ENOSPC,
// and does not change the file. With exceeded it does not fail, but calls exceeded, while the tree is locked. Writes of
// programs to the folder on disk are not limited; they count for the next write.
func (t *Tree) Limit(bytes int64, exceeded func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limit = limit{bytes, exceeded}
}

// block is the unit of disk space in bytes.
const block = 4096

// Blocks returns the disk space in bytes of a file with a size.
func Blocks(bytes int64) int64 { return (bytes + block - 1) / block * block }

// Usage returns the disk space of the files of the tree in bytes. Each file uses whole blocks of 4 KiB.
func (t *Tree) Usage() (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.usage("")
}

// usage is Usage without one file.
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

// checkLimit returns an error if a write of a file with a size exceeds the limit. The caller holds the lock.
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
