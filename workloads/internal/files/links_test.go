package files_test

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// Symbolic links are the same in memory, on disk, in a tree that is moved there, and in a clone: they are followed within the tree, and no link leads out of it.
func TestSymlinks(t *testing.T) {
	for how, prepare := range map[string]func(*testing.T, *files.Tree) *files.Tree{
		"in memory":  nil,
		"on disk":    nil,
		"moved":      func(t *testing.T, tree *files.Tree) *files.Tree { return onDisk(t, tree) },
		"in a clone": func(_ *testing.T, tree *files.Tree) *files.Tree { return tree.Clone() },
	} {
		t.Run(how, func(t *testing.T) {
			tree := files.NewTree()
			if how == "on disk" {
				onDisk(t, tree)
			}
			write(t, tree, "d/file", "old")
			write(t, tree, "replaced", "x")
			for name, target := range map[string]string{
				"link": "d/file", "twice": "link", "folder": "d", "d/up": "../link", "new": "d/made", "replaced": "d/file",
				"loop": "loop", "ping": "pong", "pong": "ping", "absolute": "/d/file", "out": "../secret", "e/out": "../../d/file",
			} {
				if err := tree.Symlink(target, name); err != nil {
					t.Fatal(err)
				}
			}
			if prepare != nil {
				tree = prepare(t, tree)
			}
			root, err := files.NewRoot(files.NewTree(), []files.Mount{{Path: "/data", Tree: tree}, {Path: "/fixed", Tree: tree, ReadOnly: true}})
			if err != nil {
				t.Fatal(err)
			}

			for link, file := range map[string]string{"link": "d/file", "twice": "d/file", "folder/file": "d/file", "folder/up": "d/file", "new": "d/made", "replaced": "d/file", "folder/more": "d/more"} {
				if err := root.WriteFile("/data/"+link, []byte("to "+link), 0o600); err != nil {
					t.Errorf("write to %s: %v", link, err)
				}
				if err := root.Append("/data/"+link, []byte(" and more"), 0o600); err != nil {
					t.Errorf("append to %s: %v", link, err)
				}
				for _, name := range []string{"data/" + link, "data/" + file} {
					if got := read(t, root, name); got != "to "+link+" and more" {
						t.Errorf("after a write to %s, %s has %q", link, name, got)
					}
				}
			}
			if err := root.Mkdir("/data/folder/deep"); err != nil {
				t.Error(err)
			}
			if info, err := fs.Stat(root, "data/d/deep"); err != nil || !info.IsDir() {
				t.Errorf("a directory in a linked one: %v, %v", info, err)
			}
			for name, want := range map[string]error{"loop": syscall.ELOOP, "ping": syscall.ELOOP} {
				_, read := root.ReadFile("/data/" + name)
				if write := root.WriteFile("/data/"+name, nil, 0o600); !errors.Is(read, want) || !errors.Is(write, want) {
					t.Errorf("%s: %v when read, %v when written, want %v", name, read, write, want)
				}
			}
			for _, name := range []string{"absolute", "out", "e/out"} {
				_, read := root.ReadFile("/data/" + name)
				write := root.WriteFile("/data/"+name, nil, 0o600)
				if want := "open /data/" + name + ": path escapes from parent"; read == nil || write == nil || read.Error() != want || write.Error() != want {
					t.Errorf("%s: %v when read, %v when written, want %s", name, read, write, want)
				}
			}
			for name, want := range map[string]string{"link": "d/file", "folder/up": "../link", "absolute": "/d/file", "out": "../secret"} {
				info, err := root.Lstat("/data/" + name)
				if target, readErr := root.ReadLink("/data/" + name); err != nil || readErr != nil || info.Mode().Type() != fs.ModeSymlink || target != want {
					t.Errorf("%s is %v and leads to %q: %v, %v", name, info, target, err, readErr)
				}
			}

			for _, name := range []string{"folder/up", "folder", "link", "loop", "out"} {
				if err := root.Remove("/data/" + name); err != nil {
					t.Error(err)
				}
				if _, err := root.Lstat("/data/" + name); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s after it was removed: %v", name, err)
				}
			}
			if got := read(t, root, "data/d/file"); got == "" {
				t.Error("the file behind removed links is gone")
			}
			if err := root.Symlink("file", "/data/d"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("a link in place of a directory: %v", err)
			}
			if err := root.Symlink("file", "/fixed/a"); !errors.Is(err, syscall.EROFS) {
				t.Errorf("a link in a volume that is read-only: %v", err)
			}
		})
	}
}

// onDisk moves a tree to a folder on disk.
func onDisk(t *testing.T, tree *files.Tree) *files.Tree {
	t.Helper()
	t.Cleanup(func() { _ = tree.Close() })
	if _, err := tree.Folder(); err != nil {
		t.Fatal(err)
	}
	return tree
}
