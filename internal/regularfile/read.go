package regularfile

import (
	"fmt"
	"io"
	"os"
)

// MaxSize is the size of the largest file that is read. The largest manifests that projects
// ship have a few megabytes.
const MaxSize = 64 << 20

// Read returns the content of a regular file of at most MaxSize bytes. Its error names the file.
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return os.ReadFile(path) // for the error of an open
	}
	if !info.Mode().IsRegular() && !info.IsDir() { // the error of a folder comes from the system
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	// Some files of the system report a size of 0 and are not empty.
	content, err := io.ReadAll(io.LimitReader(file, MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(content) > MaxSize {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, MaxSize>>20)
	}
	return content, nil
}
