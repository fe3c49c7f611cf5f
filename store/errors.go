package store

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// ErrClosed is the error of the methods of a closed store, and of its cursors.
var ErrClosed = errors.New("the store is closed")

// ErrNotFound is matched by every [NotFoundError]: errors.Is(err, ErrNotFound).
var ErrNotFound = errors.New("not found")

// NotFoundError is the error for a key that does not have a record at the requested revision.
type NotFoundError struct {
	Key string
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("key %q: not found", e.Key) }

// Is reports whether target is [ErrNotFound].
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// ExistsError is the error of a create of a key that has a record already. Current is that record.
type ExistsError struct {
	Key     string
	Current Record
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("key %q: exists since revision %d", e.Key, e.Current.Created)
}

// ConflictError is the error of a write that expected another revision of the key's record. Current is the
// current record, so that the writer need not read it again. Expected is the revision that the writer gave.
type ConflictError struct {
	Key      string
	Current  Record
	Expected int64
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("key %q: is at revision %d, the write expected %d", e.Key, e.Current.Revision, e.Expected)
}

// PreconditionError is the error of a write whose [Precondition] does not hold. Current is the revision of
// the key's record, 0 without a record; for a prefix, it is the revision of a change. Required is the
// revision of the Precondition.
type PreconditionError struct {
	Key      string
	Current  int64
	Required int64
}

func (e *PreconditionError) Error() string {
	return fmt.Sprintf("key %q: is at revision %d, the write requires %d", e.Key, e.Current, e.Required)
}

// CompactedError is the error for a revision before the history, because of [Store.Compact] or of the bounds
// of the [Options]. Oldest is the oldest revision that can be read.
type CompactedError struct {
	Requested int64
	Oldest    int64
}

func (e *CompactedError) Error() string {
	return fmt.Sprintf("revision %d has been forgotten, history begins at %d", e.Requested, e.Oldest)
}

// FutureError is the error for a revision that has not been committed yet. Current is the newest revision.
type FutureError struct {
	Requested int64
	Current   int64
}

func (e *FutureError) Error() string {
	return fmt.Sprintf("revision %d is in the future; the newest is %d", e.Requested, e.Current)
}

// FileError is the error of a write that could not be written to the data file. The write did not happen: it
// has no revision, and no reader sees it, now or when the file is opened again.
type FileError struct {
	Path string
	Err  error
	// Final is set if all later writes fail, too, because the content of the disk is unknown, or because the
	// file is no longer at its path. Close the store and open the file again.
	Final bool
}

func (e *FileError) Error() string {
	text := fmt.Sprintf("data file %s: %v", e.Path, e.Err)
	if e.Final {
		text += "; nothing more is written to it"
	}
	return text
}

func (e *FileError) Unwrap() error { return e.Err }

// Full reports whether the disk is full.
func (e *FileError) Full() bool {
	return errors.Is(e.Err, syscall.ENOSPC) || errors.Is(e.Err, syscall.EDQUOT) || errors.Is(e.Err, syscall.EFBIG)
}

// causeOf returns the error of the system without the path, because the caller adds the path.
func causeOf(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}
