package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// TestNoLinkLeadsOutOfAVolume has links in a volume on disk that a program has made: to a file and a folder of the machine, by absolute and relative paths,
// and within the volume. Those that lead out of it lead to files of the container, never to those of the machine.
func TestNoLinkLeadsOutOfAVolume(t *testing.T) {
	volume := files.NewTree()
	write(t, volume, "inside/file", "inside")
	folder, err := volume.Folder()
	if err != nil {
		t.Fatal(err)
	}
	defer volume.Close()
	machine := t.TempDir()
	secret := filepath.Join(machine, "secret")
	relative, err := filepath.Rel(folder, machine)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		os.WriteFile(secret, []byte("secret"), 0o600), os.Symlink(secret, filepath.Join(folder, "file")), os.Symlink(machine, filepath.Join(folder, "folder")),
		os.Symlink(relative, filepath.Join(folder, "relative")), os.Symlink("inside", filepath.Join(folder, "within")),
	); err != nil {
		t.Fatal(err)
	}
	root, err := files.NewRoot(files.NewTree(), []files.Mount{{Path: "/data", Tree: volume}, {Path: "/sub", Tree: volume, SubPath: "folder"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, root, "data/within/file"); got != "inside" {
		t.Errorf("through a link within the volume: %q", got)
	}
	const escapes, missing = "path escapes from parent", "file does not exist"
	for name, want := range map[string]string{"/data/file": missing, "/data/folder/secret": missing, "/data/relative/secret": missing, "/sub/secret": escapes} {
		data, err := root.ReadFile(name)
		if want := "open " + name + ": " + want; err == nil || err.Error() != want {
			t.Errorf("read %s: %q, %v, want %s", name, data, err, want)
		}
		if _, err := fs.Stat(root, name[1:]); err == nil {
			t.Errorf("the size of %s is told", name)
		}
	}
	if _, err := fs.ReadDir(root, "data/relative"); err == nil {
		t.Error("/data/relative is listed")
	}
	if _, err := fs.ReadDir(root, "sub"); err == nil {
		t.Error("/sub is listed")
	}
	for what, err := range map[string]error{
		"write": root.WriteFile("/sub/new", []byte("x"), 0o600), "mkdir": root.Mkdir("/sub/d/e"), "remove": root.Remove("/sub/secret"),
	} {
		if err == nil {
			t.Errorf("%s in /sub succeeds", what)
		}
	}
	// A link out of the volume leads to the path that the container has.
	if err := errors.Join(root.WriteFile("/data/file", []byte("own"), 0o600), root.WriteFile("/data/folder/new", []byte("x"), 0o600),
		root.WriteFile("/data/relative/new", []byte("y"), 0o600), root.Remove("/data/relative/secret")); err != nil {
		t.Errorf("write to a link out of the volume: %v", err)
	}
	if got := read(t, root, secret[1:]) + read(t, root, machine[1:]+"/new"); got != "ownx" {
		t.Errorf("the files of the container have %q", got)
	}
	if err := root.Remove("/data/folder"); err != nil {
		t.Errorf("a link is removed: %v", err)
	}
	if _, err := volume.Usage(); err != nil {
		t.Error(err)
	}
	if err := volume.Replace(map[string]files.File{"only": {Data: []byte("x"), Mode: 0o644}}); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(machine)
	if data, _ := os.ReadFile(secret); err != nil || len(entries) != 1 || string(data) != "secret" {
		t.Errorf("the folder of the machine has %v, and the file %q: %v", entries, data, err)
	}
}

// TestWritesFollowLinksInAVolume proves that a write to a symbolic link changes the file behind it, as on Linux, and that a remove removes the link.
func TestWritesFollowLinksInAVolume(t *testing.T) {
	volume := files.NewTree()
	write(t, volume, "d/file", "old")
	folder, err := volume.Folder()
	if err != nil {
		t.Fatal(err)
	}
	defer volume.Close()
	for name, target := range map[string]string{"link": "d/file", "twice": "link", "d/up": "../link", "new": "d/made", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := files.NewRoot(files.NewTree(), []files.Mount{{Path: "/data", Tree: volume}})
	if err != nil {
		t.Fatal(err)
	}
	for link, file := range map[string]string{"link": "d/file", "twice": "d/file", "d/up": "d/file", "new": "d/made"} {
		if err := root.WriteFile("/data/"+link, []byte("to "+link), 0o600); err != nil {
			t.Errorf("write to %s: %v", link, err)
		}
		if got := read(t, root, "data/"+file); got != "to "+link {
			t.Errorf("after a write to %s, %s has %q", link, file, got)
		}
		if info, err := os.Lstat(filepath.Join(folder, link)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no longer a link: %v, %v", link, info, err)
		}
	}
	if err := root.WriteFile("/data/loop", nil, 0o600); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("write to a link to itself: %v", err)
	}
	if err := root.Remove("/data/link"); err != nil {
		t.Error(err)
	}
	if got := read(t, root, "data/d/file"); got == "" {
		t.Error("the file behind a removed link is gone")
	}
}
