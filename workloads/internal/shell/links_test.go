package shell_test

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/shell"
)

// newLinks makes a shell with a volume on disk at /data: the file d/file, and links to it, to its folder, to nothing and out of the volume.
func newLinks(t *testing.T) (_ *shell.Shell, folder string) {
	t.Helper()
	volume := files.NewTree()
	t.Cleanup(func() { _ = volume.Close() })
	if err := volume.Write("d/file", files.File{Data: []byte("text"), Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	folder, err := volume.Folder()
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": "d/file", "folder": "d", "dangling": "none", "out": "/etc/hostname"} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := files.NewRoot(files.NewTree(), []files.Mount{{Path: "/data", Tree: volume}})
	if err != nil {
		t.Fatal(err)
	}
	return &shell.Shell{Files: root}, folder
}

// rm removes a link, whatever it leads to, as on Linux.
func TestRmRemovesLinks(t *testing.T) {
	s, folder := newLinks(t)
	for _, name := range []string{"link", "folder", "dangling", "out"} {
		if got := run(t, s, "", "rm", "/data/"+name); got != "" {
			t.Errorf("rm %s: %q", name, got)
		}
		if _, err := os.Lstat(filepath.Join(folder, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s after rm: %v", name, err)
		}
	}
	if got := run(t, s, "", "cat", "/data/d/file"); got != "text" {
		t.Errorf("what the links led to: %q", got)
	}
	if got := run(t, s, "", "rm", "/data/none"); got != "stderr: rm: '/data/none': No such file or directory\nexit 1" {
		t.Errorf("rm of nothing: %q", got)
	}
	if got := run(t, s, "", "rm", "/data/d"); !strings.HasSuffix(got, "exit 1") {
		t.Errorf("rm of a folder: %q", got)
	}
}

// tar stores links as links, and does not read what they lead to.
func TestTarStoresLinks(t *testing.T) {
	s, _ := newLinks(t)
	archive := run(t, s, "", "tar", "cf", "-", "/data")
	links := map[string]string{}
	for r := tar.NewReader(strings.NewReader(archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeSymlink {
			links[header.Name] = header.Linkname
		}
	}
	for name, want := range map[string]string{"data/link": "d/file", "data/folder": "d", "data/dangling": "none", "data/out": "/etc/hostname"} {
		if links[name] != want {
			t.Errorf("%s leads to %q, want %q", name, links[name], want)
		}
	}
}
