package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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

// FileOptions say how a store is kept in a file. The zero value is useful.
type FileOptions struct {
	Sync Sync
	// From is what the store begins with if the file is new; nil: nothing. A file with data ignores
	// it.
	From *Snapshot
}

// OpenFile returns a store that is kept in a file: every write that succeeds is in the file, and the
// next OpenFile continues with it, at the same revision and with the same history. The caller closes
// it.
//
// OpenFile creates a file that does not exist, with the right to read it for its owner only. An empty
// file counts as new. If a power failure has left the last writes incomplete, OpenFile cuts them off.
// It refuses a file that another store has open, that does not have the data of a store, that a newer
// version has written, or that was complete once and has been damaged since. It does not follow a
// symbolic link. The file must not be in a folder that other users can write to.
//
// The file grows with every write. When more than half of it is forgotten history, the store writes a
// new file beside it and renames that.
func OpenFile(path string, o Options, f FileOptions) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if f.Sync != SyncAlways && f.Sync != SyncEverySecond {
		return nil, fmt.Errorf("data file %s: there is no way %d of syncing", path, f.Sync)
	}
	s, err := openFile(path, o, f)
	if err != nil {
		return nil, fmt.Errorf("data file %s: %w", path, err)
	}
	return s, nil
}

func openFile(path string, o Options, options FileOptions) (*Store, error) {
	locked, err := openLocked(path)
	if err != nil {
		return nil, err
	}
	s, err := goOn(path, locked, o, options)
	if err != nil {
		_ = locked.Close()
	}
	return s, err
}

// goOn makes the store of a locked file.
func goOn(path string, locked *os.File, o Options, options FileOptions) (*Store, error) {
	info, err := locked.Stat()
	if err != nil {
		return nil, err
	}
	snap, size := options.From, int64(0)
	if snap == nil {
		snap = &Snapshot{revision: FirstRevision}
	}
	isNew := info.Size() == 0
	if !isNew {
		if snap, size, err = readData(locked); err != nil {
			return nil, err
		}
	}
	s, err := Load(snap, o)
	if err != nil {
		return nil, err
	}
	f := &file{path: path, sync: options.Sync, slack: usualSlack, handle: locked, size: size, synced: size}
	s.file = f
	if isNew {
		err = s.writeAnew()
	} else {
		f.whole = wholeSize(snap, s.log.bytes)
		if size < info.Size() {
			err = f.cut(size)
		}
		if err == nil && f.wasteful() {
			s.rewrite()
			err = f.broken
		}
	}
	if err != nil {
		s.file = nil // the caller closes it
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// ReadFile reads a file of [OpenFile], or one that [Snapshot.Write] has written. It takes no lock and
// changes nothing. If a store has the file open, ReadFile reads what has been written so far.
func ReadFile(path string) (*Snapshot, error) {
	handle, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("data file %s: %w", path, err)
	}
	defer handle.Close()
	snap, _, err := readData(handle)
	if err != nil {
		return nil, fmt.Errorf("data file %s: %w", path, err)
	}
	return snap, nil
}

// readData reads a file up to its end or to an incomplete tail, and returns how many bytes
// it has read.
func readData(handle *os.File) (*Snapshot, int64, error) {
	b, err := build(&frames{from: bufio.NewReaderSize(handle, 1<<20)})
	if err == nil {
		return b.snapshot(), b.frames.offset, nil
	}
	if !errors.Is(err, errFrame) {
		return nil, 0, err
	}
	if !b.begun || b.newest < b.promised {
		return nil, 0, b.frames.wrong("the data is damaged, or not all of it is there")
	}
	info, err := handle.Stat()
	if err != nil {
		return nil, 0, err
	}
	tail := make([]byte, info.Size()-b.frames.offset)
	if _, err := handle.ReadAt(tail, b.frames.offset); err != nil && err != io.EOF {
		return nil, 0, err
	}
	if later := syncedLater(tail, b.frames.offset); later > b.frames.offset {
		return nil, 0, b.frames.wrong("the data is damaged, and was on the disk up to byte %d; nothing has been cut off", later)
	}
	return b.snapshot(), b.frames.offset, nil
}

// syncedLater returns up to which offset the file was synced, according to the frames that follow a
// damaged one. The tail begins with the damaged frame, which is at the offset.
func syncedLater(tail []byte, offset int64) int64 {
	var synced int64
	for at := 1; at < len(tail); {
		next := bytes.Index(tail[at:], []byte(frameMagic))
		if next < 0 {
			break
		}
		at += next
		length, sum, ok := readFrameHead(tail[at:])
		if begin := at + frameHead; ok && length <= len(tail)-begin {
			text := tail[begin : begin+length]
			if checksum(offset+int64(at), text) == sum {
				p := payload{left: text[1:]}
				synced = max(synced, p.number())
				at += frameHead + length
				continue
			}
		}
		at++
	}
	return synced
}

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
	broken error       // why nothing can be written any more
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
			f.broken = fmt.Errorf("data file %s: %w; nothing more is written to it", f.path, err)
		}
	}
	if err != nil {
		if undo := f.handle.Truncate(f.size); undo != nil && f.broken == nil {
			f.broken = fmt.Errorf("data file %s: %w, after %w; nothing more is written to it", f.path, undo, err)
		}
		return err
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

// syncNow syncs everything that has been written.
func (f *file) syncNow() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer == nil || f.broken != nil {
		return f.broken
	}
	f.timer.Stop()
	f.timer = nil
	if err := f.handle.Sync(); err != nil {
		f.broken = fmt.Errorf("data file %s: %w; nothing more is written to it", f.path, err)
		return f.broken
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
		f.broken = fmt.Errorf("data file %s: %w; nothing more is written to it", f.path, err)
		return f.broken
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

// Meta returns the text that SetMeta was last given: in this store, or in the one whose file or
// snapshot this store continues.
func (s *Store) Meta() string {
	s.write.Lock()
	defer s.write.Unlock()
	return s.meta
}

// SetMeta keeps a text beside the records, which the store does not interpret. It is not a write and
// has no revision.
func (s *Store) SetMeta(meta string) error {
	s.write.Lock()
	defer s.write.Unlock()
	if s.closed.Load() {
		return ErrClosed
	}
	if s.file != nil {
		if err := s.file.append(newFrame(metaFrame).number(s.file.safe()).text(meta)); err != nil {
			return err
		}
	}
	s.meta, s.frozen = meta, nil
	return nil
}
