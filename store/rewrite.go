package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// wasteful reports whether the file should be rewritten.
func (f *file) wasteful() bool { return f.size > f.slack+2*f.whole }

// rewrite replaces the file by one without forgotten history. If that fails, the store keeps the file, and
// tries again when it has doubled.
func (s *Store) rewrite() {
	f := s.file
	if err := s.writeAnew(); err != nil {
		f.whole = f.size
		if f.broken == nil {
			f.report(fmt.Errorf("data file %s: it cannot be rewritten without its forgotten history, and keeps growing: %w", f.path, causeOf(err)))
		}
	}
}

// writeAnew replaces the file by one of the present and its history. It writes the new file beside
// the old one and renames it, so that there is a complete file at any time. It locks the new file before it writes
// to it, so that no two processes write the same one. It replaces no file but its own: another process may serve a
// new one at the path.
func (s *Store) writeAnew() error {
	snap, err := s.snapshot()
	if err != nil {
		return err
	}
	f := s.file
	f.mu.Lock()
	defer f.mu.Unlock()
	folder, name := filepath.Split(f.absolute)
	beside := filepath.Join(folder, "."+name+".fakecluster-new")
	next, err := openLocked(beside) // it may exist, if a process was killed while it wrote
	if err != nil {
		return fmt.Errorf("%s: %w", beside, err)
	}
	info, size, err := writeTo(next, snap, s.meta)
	if err == nil {
		err = f.inPlace()
	}
	if err == nil {
		err = os.Rename(beside, f.absolute)
	}
	if err != nil {
		_ = os.Remove(beside)
		return errors.Join(err, next.Close())
	}
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	_ = f.handle.Close() // the old file is no longer needed
	f.handle, f.info, f.size, f.whole = next, info, size, size
	// Until the folder is synced too, the old file would be found after a power failure.
	if err := syncFolder(folder); err != nil {
		return f.fail(err)
	}
	f.synced = size
	return nil
}

// writeTo writes a snapshot to a file, syncs it with its mark, and returns its size.
func writeTo(next *os.File, snap *Snapshot, meta string) (info os.FileInfo, size int64, err error) {
	if err = errors.Join(next.Chmod(0o600), next.Truncate(0)); err != nil {
		return nil, 0, err
	}
	if size, err = snap.write(next, fileFormat, meta); err != nil {
		return nil, 0, err
	}
	if _, err = next.WriteAt(markOf(size), markOffset); err != nil {
		return nil, 0, err
	}
	if err = next.Sync(); err != nil {
		return nil, 0, err
	}
	info, err = next.Stat()
	return info, size, err
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
