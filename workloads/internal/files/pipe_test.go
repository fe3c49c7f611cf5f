//go:build unix

package files_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// TestANamedPipeIsNotWaitedFor reads a pipe that a program has made in a volume, and that nobody writes to. Other files stay readable.
func TestANamedPipeIsNotWaitedFor(t *testing.T) {
	volume := files.NewTree()
	write(t, volume, "file", "text")
	folder, err := volume.Folder()
	if err != nil {
		t.Fatal(err)
	}
	defer volume.Close()
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := volume.Open("pipe"); err == nil || err.Error() != "open pipe: is neither a file nor a directory" {
		t.Errorf("the error is %v", err)
	}
	if got := read(t, volume, "file"); got != "text" {
		t.Errorf("the file is %q", got)
	}
}
