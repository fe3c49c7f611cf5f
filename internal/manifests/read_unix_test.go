//go:build unix

package manifests

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	write := func(name string, size int64) {
		if err := os.WriteFile(path(name), []byte("a: b"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path(name), size); err != nil {
			t.Fatal(err)
		}
	}
	write("small", 4)
	write("largest", MaxSize)
	write("too large", MaxSize+1)
	write("huge", 1<<40)
	if err := syscall.Mkfifo(path("fifo"), 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("/dev/zero", path("link")); err != nil {
		t.Skip(err)
	}
	for _, tt := range []struct {
		name string
		size int
		err  string
	}{
		{path("small"), 4, ""},
		{path("largest"), MaxSize, ""},
		{path("too large"), 0, path("too large") + " is larger than 64 MiB"},
		{path("huge"), 0, path("huge") + " is larger than 64 MiB"},
		{path("fifo"), 0, path("fifo") + " is not a regular file"},
		{path("link"), 0, path("link") + " is not a regular file"},
		{"/dev/zero", 0, "/dev/zero is not a regular file"},
		{folder, 0, "read " + folder + ": is a directory"},
		{path("none"), 0, "open " + path("none") + ": no such file or directory"},
	} {
		t.Run(filepath.Base(tt.name), func(t *testing.T) {
			content, err := ReadFile(tt.name)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if len(content) != tt.size || text != tt.err {
				t.Errorf("%d bytes, error %q; want %d, %q", len(content), text, tt.size, tt.err)
			}
		})
	}
}
