// Package regular reads files that somebody names: manifests and scenarios. A name may lead to
// something that never ends, such as /dev/zero, or that nobody writes to, such as a FIFO.
//
// What stays true: only regular files are opened, and no more than MaxSize bytes are read.
package regular

import (
	"fmt"
	"io"
	"os"
)

// MaxSize is how large a file may be. The largest manifests that projects ship have a few
// megabytes.
const MaxSize = 64 << 20

// Read returns the content of a regular file of at most MaxSize bytes. Its error names the file.
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return os.ReadFile(path) // for the error of an open
	}
	if !info.Mode().IsRegular() && !info.IsDir() { // what is wrong with a folder the system says
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	// Some files of the system say that they are empty, and are not.
	content, err := io.ReadAll(io.LimitReader(file, MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(content) > MaxSize {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, MaxSize>>20)
	}
	return content, nil
}
