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

// coarsest is the longest time between two times of change that a file system distinguishes.
const coarsest = 2 * time.Second

// StampOf takes the stamp of a file. All files that cannot be read have the zero value.
func StampOf(path string) Stamp {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}
	}
	return Stamp{info, info.ModTime(), info.Size(), time.Now()}
}

// Equals reports whether a file has the content that it had when an earlier stamp was taken. One that
// had just been written then may have been written again at the same time, as its clock shows it.
func (s Stamp) Equals(earlier Stamp) bool {
	if s.info == nil || earlier.info == nil {
		return s.info == nil && earlier.info == nil
	}
	return earlier.taken.Sub(earlier.modified) > coarsest && s.modified.Equal(earlier.modified) && s.size == earlier.size && os.SameFile(s.info, earlier.info)
}
