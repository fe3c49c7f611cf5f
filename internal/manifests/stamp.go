package manifests

import (
	"os"
	"time"
)

// Stamp identifies the content of a file.
type Stamp struct {
	info     os.FileInfo
	modified time.Time
	size     int64
	taken    time.Time
}

// coarsest is the coarsest resolution of a file system's modification times.
const coarsest = 2 * time.Second

// StampOf returns the stamp of a file, or the zero value if the file cannot be read.
func StampOf(path string) Stamp {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}
	}
	return Stamp{info, info.ModTime(), info.Size(), time.Now()}
}

// Equals reports whether a file still has the content of an earlier stamp. It returns false for a file that was written
// just before that stamp: a later write may have the same modification time.
func (s Stamp) Equals(earlier Stamp) bool {
	if s.info == nil || earlier.info == nil {
		return s.info == nil && earlier.info == nil
	}
	return earlier.taken.Sub(earlier.modified) > coarsest && s.modified.Equal(earlier.modified) && s.size == earlier.size && os.SameFile(s.info, earlier.info)
}
