package files_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// Symbolic links are the same in memory, on disk, in a tree that is moved there, and in a clone: those that lead out of it lead to the container.
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
			for name, leads := range map[string]string{"out": "secret", "e/out": "d/file"} {
				if _, err := root.ReadFile("/data/" + name); err == nil || err.Error() != "open /data/"+name+": file does not exist" {
					t.Errorf("%s, which leads out of the volume to nothing: %v", name, err)
				}
				if err := root.WriteFile("/data/"+name, []byte("through "+name), 0o600); err != nil {
					t.Error(err)
				}
				if got := read(t, root, leads); got != "through "+name {
					t.Errorf("%s leads to a file with %q", name, got)
				}
				if err := root.Remove("/" + leads); err != nil {
					t.Error(err)
				}
			}
			if _, err := root.ReadFile("/data/absolute"); err == nil || err.Error() != "open /data/absolute: file does not exist" {
				t.Errorf("an absolute link to nothing: %v", err)
			}
			if err := root.WriteFile("/data/absolute", []byte("of the container"), 0o600); err != nil {
				t.Error(err)
			}
			if got := read(t, root, "d/file") + read(t, root, "fixed/absolute"); got != "of the containerof the container" {
				t.Errorf("an absolute link leads to %q", got)
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

// The target of a link is followed element by element, as on Linux: ".." is the parent of what the elements before it lead to, and each of these has to be a
// directory.
func TestTargetsAreFollowedByElements(t *testing.T) {
	each(t, func(t *testing.T, tree *files.Tree) {
		write(t, tree, "x", "top")
		write(t, tree, "deep/x", "deep")
		if err := tree.Mkdir("deep/er"); err != nil {
			t.Fatal(err)
		}
		links := map[string]string{
			"folder": "deep/er", "up": "folder/../x", "parent": "folder/..", "twice": "folder/../../x", "dots": ".//deep/./x", "out": "folder/../../../x", "out and in": "../deep/x",
			"dangling": "none", "missing": "nothing/../x", "slash": "x/", "file": "x/../deep/x", "below": "x/y", "hop 0": "x",
		}
		for i := range 40 {
			links[fmt.Sprint("hop ", i+1)] = fmt.Sprint("hop ", i)
		}
		for name, target := range links {
			if err := tree.Symlink(target, name); err != nil {
				t.Fatal(err)
			}
		}
		for name, want := range map[string]string{"up": "deep", "parent/x": "deep", "twice": "top", "dots": "deep", "hop 39": "top"} {
			if got := read(t, tree, name); got != want {
				t.Errorf("%s has %q, want %q", name, got, want)
			}
			write(t, tree, name, "to "+name)
			if got := read(t, tree, map[string]string{"deep": "deep/x", "top": "x"}[want]); got != "to "+name {
				t.Errorf("after a write to %s: %q", name, got)
			}
			write(t, tree, name, want)
		}
		escapes := errors.New("path escapes from parent")
		for name, want := range map[string]error{
			"missing": fs.ErrNotExist, "slash": syscall.ENOTDIR, "file": syscall.ENOTDIR, "below": syscall.ENOTDIR, "dangling/x": fs.ErrNotExist,
			"hop 40": syscall.ELOOP, "out": escapes, "out and in": escapes,
		} {
			_, readErr := fs.ReadFile(tree, name)
			for how, err := range map[string]error{
				"read": readErr, "write": tree.Write(name, files.File{Mode: 0o600}), "append": tree.Append(name, nil, 0o600),
			} {
				if failed := (*fs.PathError)(nil); !errors.As(err, &failed) || !errors.Is(err, want) && failed.Err.Error() != want.Error() {
					t.Errorf("%s %s: %v, want %v", how, name, err, want)
				}
			}
		}
		for _, name := range []string{"dangling", "dangling/x", "missing"} {
			if err := tree.Mkdir(name); !errors.Is(err, fs.ErrExist) {
				t.Errorf("mkdir %s: %v", name, err)
			}
		}
		if _, err := tree.Lstat("none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what the dangling link leads to is there: %v", err)
		}
		if err := tree.Remove("dangling/x"); err != nil {
			t.Errorf("a remove of nothing: %v", err)
		}
		if err := tree.Symlink("", "empty"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a link to an empty name: %v", err)
		}
	})
}

// A link that leads out of what is mounted leads to the container, never to the rest of the volume, of which only a part may be mounted.
func TestLinksLeaveMountsToTheContainer(t *testing.T) {
	each(t, func(t *testing.T, tree *files.Tree) {
		write(t, tree, "secret", "of others")
		write(t, tree, "part/of/mine", "mine")
		for name, target := range map[string]string{"alias": "part/of", "part/of/up": "../../secret", "part/of/side": "../etc/x", "part/of/in": "../of/mine", "part/of/round": "../../etc/part/mine", "part/of/none": "/nowhere/x"} {
			if err := tree.Symlink(target, name); err != nil {
				t.Fatal(err)
			}
		}
		own := files.NewTree()
		write(t, own, "etc/etc/x", "etc of the container")
		write(t, own, "secret", "secret of the container")
		for _, part := range []string{"part/of", "alias"} {
			root, err := files.NewRoot(own, []files.Mount{{Path: "/etc/part", Tree: tree, SubPath: part}})
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]string{"mine": "mine", "up": "secret of the container", "side": "etc of the container", "round": "mine"} {
				if got := read(t, root, "etc/part/"+name); got != want {
					t.Errorf("%s of %s has %q, want %q", name, part, got, want)
				}
			}
			if _, err := root.ReadFile("/etc/part/in"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a link out of %s and in again: %v", part, err)
			}
			for _, name := range []string{"/etc/part/none", "/etc/part/none/deep"} {
				if err := root.Mkdir(name); !errors.Is(err, fs.ErrExist) {
					t.Errorf("mkdir %s: %v", name, err)
				}
			}
			if _, err := root.Lstat("/nowhere"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("what the dangling link leads to is there: %v", err)
			}
		}
		if got := read(t, tree, "secret"); got != "of others" {
			t.Errorf("the rest of the volume has %q", got)
		}
	})
}

// A write to a link replaces the file behind it, so that the limit of the tree does not count both.
func TestALimitCountsWhatAWriteToALinkReplaces(t *testing.T) {
	each(t, func(t *testing.T, tree *files.Tree) {
		write(t, tree, "x", strings.Repeat("old", 4096))
		if err := tree.Symlink("x", "link"); err != nil {
			t.Fatal(err)
		}
		tree.Limit(4*4096, nil)
		text := strings.Repeat("new", 4096)
		write(t, tree, "link", text)
		if read(t, tree, "x") != text {
			t.Error("the file behind the link is not written")
		}
	})
}

// TestLinksAsTheSystemFollowsThem compares trees with links at random, in memory and on disk, with how the system follows the links in the folder. What the
// system finds outside of the folder is an error.
func TestLinksAsTheSystemFollowsThem(t *testing.T) {
	followed := 0
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 0))
		pick := func(from ...string) string { return from[random.IntN(len(from))] }
		memory, disk := files.NewTree(), files.NewTree()
		folder, err := onDisk(t, disk).Folder()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(folder + "-outside") })
		if err := os.WriteFile(folder+"-outside", []byte("outside"), 0o600); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, top := range []string{"a", "b", "c"} {
			names = append(names, top)
			for _, below := range []string{"a", "b", "c"} {
				names = append(names, top+"/"+below, top+"/"+below+"/"+pick("a", "b", "c"))
			}
		}
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			kind, target := random.IntN(5), strings.Repeat("../", strings.Count(name, "/"))+pick(names...)
			switch random.IntN(8) {
			case 0:
				target += "/"
			case 1:
				target = "../" + strings.Repeat("../", strings.Count(name, "/")) + filepath.Base(folder) + "-outside"
			case 2, 3:
				target += "/../" + pick("a", "b", "c", "..", "./a")
			}
			for _, tree := range []*files.Tree{memory, disk} {
				switch kind {
				case 0, 1: // in place of a link this goes through it
					_ = tree.Write(name, files.File{Data: []byte(name), Mode: 0o600})
				case 2:
					_ = tree.Mkdir(name)
				default:
					_ = tree.Symlink(target, name)
				}
			}
		}
		for _, name := range names {
			want, wantErr := os.ReadFile(filepath.Join(folder, name))
			escapes := map[string]bool{}
			for where, tree := range map[string]*files.Tree{"in memory": memory, "on disk": disk} {
				got, err := fs.ReadFile(tree, name)
				if failed := (*fs.PathError)(nil); errors.As(err, &failed) && failed.Err.Error() == "path escapes from parent" {
					escapes[where] = true
					continue
				}
				if string(got) != string(want) || (err == nil) != (wantErr == nil) || errors.Is(err, syscall.ELOOP) != errors.Is(wantErr, syscall.ELOOP) {
					t.Errorf("seed %d: %s %s: %q, %v, and the system reads %q, %v", seed, name, where, got, err, want, wantErr)
				}
				if err == nil && string(got) != name { // files have their names
					followed++
				}
				if string(got) == "outside" {
					t.Errorf("seed %d: %s %s leads out", seed, name, where)
				}
			}
			if escapes["in memory"] != escapes["on disk"] {
				t.Errorf("seed %d: %s leads out: %v", seed, name, escapes)
			}
		}
	}
	if followed < 20 {
		t.Errorf("%d files are read through links", followed)
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
