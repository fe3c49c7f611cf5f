package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
)

// FileOptions configure how a store is kept in a file. The zero value syncs every write and reports nothing.
type FileOptions struct {
	// Sync is when writes are synced to the disk. The default is SyncAlways.
	Sync Sync
	// From is the initial content of the store if the file is new; nil: the store is empty. It is
	// ignored if the file has data.
	From *Snapshot
	// Report is called when OpenFile has cut off an incomplete tail, with the path of its copy, and
	// when the file takes no more writes, with a [*FileError]. It is called in addition to the
	// error of the call, if the call fails. Report must not call the store. Nil: nothing is
	// reported.
	Report func(error)
}

// OpenFile returns a store that is kept in a file: every write that succeeds is in the file, and the
// next OpenFile continues with it, at the same revision and with the same history. The caller closes
// it.
//
// If the file does not exist, OpenFile creates it so that only its owner can read it. If a power failure has
// left the last writes incomplete, OpenFile cuts them off, after it has copied them to a new file beside it,
// whose name ends in ".cut-" and the offset. OpenFile returns an error for a file that another store has
// open, that does not contain the data of a store ([*FormatError]), that a newer version has written, or that
// is damaged: everything up to the last sync, or up to the close of the file, must be intact. It also rejects
// an empty file, because that may be a file that has lost its data, and a symbolic link. The file must not be
// in a folder that other users can write to. On systems that cannot lock files it always fails.
//
// The file grows with every write. When more than half of it, and more than 64 MiB, is forgotten history, the
// store writes a new file beside it and renames that. If the file is deleted, moved or replaced while the
// store has it open, writes fail with a [*FileError], and so does Close.
func OpenFile(path string, o Options, f FileOptions) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if f.Sync != SyncAlways && f.Sync != SyncEverySecond {
		return nil, fmt.Errorf("data file %s: unknown Sync %d", path, f.Sync)
	}
	if f.Report == nil {
		f.Report = func(error) {}
	}
	s, err := openFile(path, o, f)
	if err != nil {
		return nil, fmt.Errorf("data file %s: %w", path, err)
	}
	return s, nil
}

// errEmptyFile is the error of a file that existed and is empty.
var errEmptyFile = errors.New("it exists and is empty, as if its data had been lost: remove it to begin a new cluster")

func openFile(path string, o Options, options FileOptions) (*Store, error) {
	absolute, err := filepath.Abs(path) // the folder of the process may change
	if err != nil {
		return nil, err
	}
	before, _ := os.Lstat(absolute)
	locked, err := openLocked(absolute)
	if err != nil {
		return nil, err
	}
	info, err := locked.Stat()
	if err != nil {
		return nil, errors.Join(err, locked.Close())
	}
	if before != nil && info.Size() == 0 {
		return nil, errors.Join(errEmptyFile, locked.Close())
	}
	f := &file{path: path, absolute: absolute, info: info, sync: options.Sync, report: options.Report, slack: usualSlack, handle: locked}
	s, err := resume(f, locked, o, options.From)
	if err != nil {
		_ = f.handle.Close()
	}
	return s, err
}

// resume returns the store of a locked file.
func resume(f *file, locked *os.File, o Options, from *Snapshot) (*Store, error) {
	if from == nil {
		from = &Snapshot{revision: FirstRevision}
	}
	b := &snapshotBuilder{}
	if f.info.Size() > 0 {
		var err error
		if b, err = readData(locked); err != nil {
			return nil, err
		}
		from, f.size = b.snapshot(), b.frames.offset
	}
	s, err := Load(from, o)
	if err != nil {
		return nil, err
	}
	s.file = f
	f.whole = wholeSize(from, s.log.bytes)
	torn := f.size > 0 && f.size < f.info.Size()
	if torn {
		err = f.cut(locked, s.Revision())
	}
	switch {
	case err != nil:
	case b.version < fileFormat: // it is new, or without a mark
		err = s.writeAnew()
	case torn || b.complete < f.size:
		err = f.syncAndMark(f.size)
	default:
		f.synced = f.size
	}
	if err == nil && f.wasteful() {
		s.rewrite()
		if f.broken != nil {
			err = f.broken
		}
	}
	if err != nil {
		s.file = nil // the caller closes it
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// ReadFile reads a file of [OpenFile] or of [Snapshot.Write]. It takes no lock and changes nothing. If a
// store has the file open, ReadFile reads what has been written so far. It fails with a [*FormatError] for a
// file with other or damaged content.
func ReadFile(path string) (*Snapshot, error) {
	handle, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("data file %s: %w", path, err)
	}
	defer handle.Close()
	b, err := readData(handle)
	if format := (*FormatError)(nil); errors.As(err, &format) {
		b, err = readData(handle) // a store that has the file open may have been writing its mark
	}
	if err != nil {
		return nil, fmt.Errorf("data file %s: %w", path, err)
	}
	return b.snapshot(), nil
}

// readData reads a file up to its end or to an incomplete tail.
func readData(handle *os.File) (*snapshotBuilder, error) {
	b, err := build(&frames{from: bufio.NewReaderSize(io.NewSectionReader(handle, 0, math.MaxInt64), 1<<20)})
	if !errors.Is(err, errFrame) {
		return b, err
	}
	if !b.begun || b.newest < b.promised {
		return nil, b.frames.wrong("the data is damaged, or not all of it is there")
	}
	info, err := handle.Stat()
	if err != nil {
		return nil, err
	}
	tail := make([]byte, max(0, info.Size()-b.frames.offset))
	if _, err := handle.ReadAt(tail, b.frames.offset); err != nil && err != io.EOF {
		return nil, err
	}
	if later := max(b.complete, syncedLater(tail, b.frames.offset)); later > b.frames.offset {
		return nil, b.frames.wrong("the data is damaged, and was on the disk up to byte %d; nothing has been cut off", later)
	}
	return b, nil
}

// syncedLater returns up to which offset the file was synced, according to the frames that follow a
// damaged one. The tail begins with the damaged frame, which is at the offset.
func syncedLater(tail []byte, offset int64) int64 {
	var synced int64
	for position := 1; position < len(tail); {
		next := bytes.Index(tail[position:], []byte(frameMagic))
		if next < 0 {
			break
		}
		position += next
		length, sum, ok := readFrameHead(tail[position:])
		if begin := position + frameHead; ok && length <= len(tail)-begin {
			text := tail[begin : begin+length]
			if checksum(offset+int64(position), text) == sum {
				p := payload{left: text[1:]}
				synced = max(synced, p.number())
				position += frameHead + length
				continue
			}
		}
		position++
	}
	return synced
}
