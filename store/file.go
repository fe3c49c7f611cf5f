package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Sync selects when writes to a file are synced to the disk, so that they survive a power failure. In either
// mode they survive the end of the process, even by SIGKILL, because the operating system has them.
type Sync int

const (
	// SyncAlways makes each write wait until it is on the disk.
	SyncAlways Sync = iota
	// SyncEverySecond syncs writes to the disk within a second, and when the store is closed. A power failure
	// loses up to one second of writes.
	SyncEverySecond
)

// handle is the part of os.File with which a data file is written. Tests replace it.
type handle interface {
	io.WriterAt
	Truncate(int64) error
	Sync() error
	Close() error
}

// file is an open data file. Store.write guards it; mu guards the fields that the timer uses, too.
type file struct {
	path     string // as the caller names it
	absolute string // the absolute path
	info     os.FileInfo
	sync     Sync
	report   func(error)
	slack    int64 // how many bytes of forgotten history the file may always have
	whole    int64 // the estimated size of a new file, when that was last computed

	mu     sync.Mutex
	handle handle
	size   int64
	synced int64       // the offset up to which it is synced
	timer  *time.Timer // syncs the last writes; nil: all writes are synced
	broken *FileError  // the reason why no more writes are possible; nil: they are
}

// usualSlack is the slack of a file, and syncAfter how long SyncEverySecond waits.
const (
	usualSlack = 64 << 20
	syncAfter  = time.Second
)

// safe returns the offset up to which the file is synced.
func (f *file) safe() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.synced
}

// append adds a frame. If it fails, the content of the file is unchanged.
func (f *file) append(fr frame) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.inPlace(); err != nil {
		return err
	}
	whole, err := fr.close(f.size)
	if err != nil {
		return err
	}
	size := f.size + int64(len(whole))
	if _, err = f.handle.WriteAt(whole, f.size); err == nil && f.sync == SyncAlways {
		err = f.syncAndMark(size)
	}
	if err != nil {
		if undo := f.handle.Truncate(f.size); undo != nil {
			f.fail(fmt.Errorf("%w, after %w", causeOf(undo), causeOf(err)))
		}
		if f.broken != nil {
			return f.broken
		}
		return &FileError{Path: f.path, Err: causeOf(err)}
	}
	f.size = size
	if f.sync == SyncEverySecond && f.timer == nil {
		f.timer = time.AfterFunc(syncAfter, func() { _ = f.syncNow() }) // a failure is reported
	}
	return nil
}

// syncAndMark syncs the file and marks it as complete up to its size.
func (f *file) syncAndMark(size int64) error {
	err := f.handle.Sync()
	if err == nil {
		f.synced = size
		_, err = f.handle.WriteAt(markOf(size), markOffset)
	}
	if err != nil {
		// The content of the disk is now unknown, even of data that an earlier sync has written.
		return f.fail(err)
	}
	return nil
}

// errGone is the error of a file that is no longer at its path: nobody could find what is written to it.
var errGone = errors.New("it has been deleted, moved or replaced while it was open")

// inPlace returns an error if the file is broken or no longer at its path.
func (f *file) inPlace() error {
	if f.broken != nil {
		return f.broken
	}
	if there, err := os.Lstat(f.absolute); err != nil || !os.SameFile(there, f.info) {
		return f.fail(errGone)
	}
	return nil
}

// fail stores and reports the reason why no more writes are possible, once.
func (f *file) fail(why error) error {
	if f.broken == nil {
		f.broken = &FileError{Path: f.path, Err: causeOf(why), Final: true}
		f.report(f.broken)
	}
	return f.broken
}

// syncNow syncs everything that has been written.
func (f *file) syncNow() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return f.broken
	}
	if f.timer == nil {
		return nil
	}
	f.timer.Stop()
	f.timer = nil
	return f.syncAndMark(f.size)
}

// close syncs the file and its mark, and releases its lock.
func (f *file) close() error {
	err := f.syncNow()
	if err == nil {
		err = f.inPlace()
	}
	if err == nil {
		if err = f.handle.Sync(); err != nil {
			err = f.fail(err)
		}
	}
	return errors.Join(err, f.handle.Close())
}

// cut drops the incomplete tail of the file, after it has copied it to another file. revision is the last one
// before the tail, for the report.
func (f *file) cut(from io.ReaderAt, revision int64) error {
	n := f.info.Size() - f.size
	kept, err := f.keep(io.NewSectionReader(from, f.size, n))
	if err != nil {
		return fmt.Errorf("the last %d bytes are incomplete, from byte %d on, and cannot be copied: %w; nothing has been cut off", n, f.size, err)
	}
	if err := f.handle.Truncate(f.size); err != nil {
		return err
	}
	f.report(fmt.Errorf("data file %s: the last %d bytes are incomplete, from byte %d on, and have been cut off; a copy of them is in %s; the data continues at revision %d",
		f.path, n, f.size, kept, revision))
	return nil
}

// keep writes the tail of the file to a new file beside it, and returns the path of that.
func (f *file) keep(tail io.Reader) (path string, err error) {
	for i := 1; ; i++ {
		path = fmt.Sprintf("%s.cut-%d", f.absolute, f.size)
		if i > 1 {
			path = fmt.Sprintf("%s-%d", path, i)
		}
		copied, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if _, err = io.Copy(copied, tail); err == nil {
			err = copied.Sync()
		}
		if err = errors.Join(err, copied.Close()); err == nil {
			err = syncFolder(filepath.Dir(path))
		}
		if err != nil {
			return "", errors.Join(err, os.Remove(path))
		}
		return path, nil
	}
}
