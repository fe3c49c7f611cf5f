package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// wasteful tells whether the file should be rewritten.
func (f *file) wasteful() bool { return f.size > f.slack+2*f.whole }

// rewrite replaces the file by one without forgotten history. If that fails, the file stays as it is
// until it is much larger.
func (s *Store) rewrite() {
	if err := s.writeAnew(); err != nil {
		s.file.whole = s.file.size
	}
}

// writeAnew replaces the file by one of the present and its history. It writes the new file beside
// the old one and renames it, so that there is a complete file at any time. It locks the new file
// before anybody can find it.
func (s *Store) writeAnew() error {
	snap, err := s.snapshot()
	if err != nil {
		return err
	}
	f := s.file
	folder, name := filepath.Split(f.path)
	beside := filepath.Join(folder, "."+name+".fakecluster-new")
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // what a process has left that ended while it wrote
	}
	next, err := openRegular(beside, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	size := int64(0)
	if err = lock(next); err == nil {
		size, err = snap.write(next, s.meta)
	}
	if err == nil {
		err = next.Sync()
	}
	if err == nil {
		err = os.Rename(beside, f.path)
	}
	if err != nil {
		_ = os.Remove(beside)
		return errors.Join(err, next.Close())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	_ = f.handle.Close() // nothing of it is needed any more
	f.handle, f.size, f.whole = next, size, size
	// Until the folder is synced too, the old file would be found after a power failure.
	if err := syncFolder(folder); err != nil {
		return f.breaks(err)
	}
	f.synced = size
	return nil
}

// wholeSize estimates the size of a new file of a store.
func wholeSize(snap *Snapshot, history int64) int64 {
	for i := range snap.items {
		history += int64(len(snap.items[i].key) + len(snap.items[i].encoded))
	}
	return history
}

func syncFolder(folder string) error {
	if folder == "" {
		folder = "."
	}
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
