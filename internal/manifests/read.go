package manifests

import (
	"fmt"
	"io"
	"os"
)

// MaxSize is the size in bytes of the largest file that is read. The largest manifests of projects have a few megabytes.
const MaxSize = 64 << 20

// Check returns an error for a path that is neither a regular file nor a folder, such as a device. It returns nil for a
// path that does not exist, because opening it gives a better error.
func Check(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	return nil
}

// ReadFile returns the content of a regular file of at most MaxSize bytes. Its error names the file.
func ReadFile(path string) ([]byte, error) {
	if err := Check(path); err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	// Some files of the system, such as those in /proc, report a size of 0 and are not empty.
	content, err := io.ReadAll(io.LimitReader(file, MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(content) > MaxSize {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, MaxSize>>20)
	}
	return content, nil
}
