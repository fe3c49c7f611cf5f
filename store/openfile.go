package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
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
			if f.broken != nil {
				err = f.broken
			}
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
