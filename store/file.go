package store

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Sync says when writes to a file are synced to the disk, so that they survive a power failure. A
// process that ends, even by SIGKILL, loses nothing either way, because the system has what was
// written.
type Sync int

const (
	// SyncAlways makes each write wait until it is on the disk.
	SyncAlways Sync = iota
	// SyncEverySecond syncs writes to the disk within a second, and when the store is closed.
	SyncEverySecond
)

// handle is what a data file is written through.
type handle interface {
	io.WriterAt
	Truncate(int64) error
	Sync() error
	Close() error
}

// file is an open data file. The lock of writers guards it; mu guards what the timer uses as
// well.
type file struct {
	path  string
	sync  Sync
	slack int64 // how many bytes of forgotten history the file may always have
	whole int64 // the estimated size of a new file, when that was last computed

	mu     sync.Mutex
	handle handle
	size   int64
	synced int64       // the offset up to which it is synced
	timer  *time.Timer // that syncs what has been written; nil: all is synced
	broken *FileError  // why nothing can be written any more
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

// append adds a frame. When it fails, the file is as before.
func (f *file) append(fr frame) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return f.broken
	}
	whole, err := fr.close(f.size)
	if err != nil {
		return err
	}
	if _, err = f.handle.WriteAt(whole, f.size); err == nil && f.sync == SyncAlways {
		if err = f.handle.Sync(); err != nil {
			// What is on the disk now is unknown, even of what an earlier sync has
			// promised.
			f.breaks(err)
		}
	}
	if err != nil {
		if undo := f.handle.Truncate(f.size); undo != nil && f.broken == nil {
			f.breaks(fmt.Errorf("%w, after %w", causeOf(undo), causeOf(err)))
		}
		return &FileError{Path: f.path, Err: causeOf(err)}
	}
	f.size += int64(len(whole))
	switch {
	case f.sync == SyncAlways:
		f.synced = f.size
	case f.timer == nil:
		f.timer = time.AfterFunc(syncAfter, func() { _ = f.syncNow() }) // the next write says why
	}
	return nil
}

// breaks notes why nothing can be written any more.
func (f *file) breaks(why error) error {
	f.broken = &FileError{Path: f.path, Err: causeOf(why), Final: true}
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
	if err := f.handle.Sync(); err != nil {
		return f.breaks(err)
	}
	f.synced = f.size
	return nil
}

// close syncs the file and lets others open it.
func (f *file) close() error {
	err := f.syncNow()
	return errors.Join(err, f.handle.Close())
}

// cut drops what follows an offset.
func (f *file) cut(size int64) error {
	err := f.handle.Truncate(size)
	if err == nil {
		err = f.handle.Sync()
	}
	return err
}
