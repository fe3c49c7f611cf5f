package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// each runs a test with a tree in memory and one on disk.
func each(t *testing.T, test func(t *testing.T, tree *files.Tree)) {
	t.Helper()
	for _, where := range []string{"in memory", "on disk"} {
		t.Run(where, func(t *testing.T) {
			tree := files.NewTree()
			if where == "on disk" {
				if _, err := tree.Folder(); err != nil {
					t.Fatal(err)
				}
			}
			defer func() {
				if err := tree.Close(); err != nil {
					t.Error(err)
				}
			}()
			test(t, tree)
		})
	}
}

func write(t *testing.T, tree *files.Tree, name, text string) {
	t.Helper()
	if err := tree.Write(name, files.File{Data: []byte(text), Mode: 0o640}); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, from fs.FS, name string) string {
	t.Helper()
	data, err := fs.ReadFile(from, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestATreeIsAFileSystem(t *testing.T) {
	each(t, func(t *testing.T, tree *files.Tree) {
		write(t, tree, "a/b/c", "first")
		write(t, tree, "a/d", "second")
		if err := tree.Mkdir("empty"); err != nil {
			t.Error(err)
		}
		if err := fstest.TestFS(tree, "a/b/c", "a/d", "empty"); err != nil {
			t.Error(err)
		}
		info, err := fs.Stat(tree, "a/d")
		if err != nil || info.Mode() != 0o640 || info.Size() != 6 {
			t.Errorf("%v, %v", info, err)
		}
		write(t, tree, "a/d", "third")
		if got := read(t, tree, "a/d"); got != "third" {
			t.Errorf("the file is %q", got)
		}
		if err := tree.Remove("a/b"); err != nil {
			t.Error(err)
		}
		if _, err := fs.Stat(tree, "a/b/c"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a removed file: %v", err)
		}
	})
}

func TestWrongNames(t *testing.T) {
	each(t, func(t *testing.T, tree *files.Tree) {
		write(t, tree, "file", "x")
		for _, err := range []error{
			tree.Write("../outside", files.File{}), tree.Write("/absolute", files.File{}), tree.Write(".", files.File{}), tree.Remove("."),
			tree.Mkdir("../outside"), tree.Mkdir("file"), tree.Write("file/below", files.File{}),
		} {
			if failed := (*fs.PathError)(nil); !errors.As(err, &failed) {
				t.Errorf("the error is %v", err)
			}
		}
	})
}

func TestReplaceLeavesNothingElse(t *testing.T) {
	each(t, func(t *testing.T, tree *files.Tree) {
		write(t, tree, "old/file", "x")
		write(t, tree, "kept", "before")
		if err := tree.Replace(map[string]files.File{"kept": {Data: []byte("after"), Mode: 0o644}, "new/file": {Mode: 0o644}}); err != nil {
			t.Fatal(err)
		}
		if got := read(t, tree, "kept"); got != "after" {
			t.Errorf("the file is %q", got)
		}
		if _, err := fs.Stat(tree, "old/file"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a file that is not among the new ones: %v", err)
		}
		if got := read(t, tree, "new/file"); got != "" {
			t.Errorf("the new file is %q", got)
		}
	})
}

func TestAFolderIsTheTree(t *testing.T) {
	tree := files.NewTree()
	write(t, tree, "a/b", "memory")
	folder, err := tree.Folder()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(folder, "a", "b"))
	if err != nil || string(data) != "memory" {
		t.Errorf("%q, %v", data, err)
	}
	if err := os.WriteFile(filepath.Join(folder, "program"), []byte("disk"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, tree, "program"); got != "disk" {
		t.Errorf("the file is %q", got)
	}
	if err := tree.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder after Close: %v", err)
	}
}

func TestARootShowsVolumesAtTheirPaths(t *testing.T) {
	config, shared := files.NewTree(), files.NewTree()
	write(t, config, "key", "value")
	write(t, shared, "below/here", "deep")
	root, err := files.NewRoot(files.NewTree(), []files.Mount{
		{Path: "/etc/config", Tree: config, ReadOnly: true}, {Path: "/etc/one", Tree: config, SubPath: "key", ReadOnly: true},
		{Path: "/data/", Tree: shared}, {Path: "/data/part", Tree: shared, SubPath: "below"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"etc/config/key": "value", "etc/one": "value", "data/below/here": "deep", "data/part/here": "deep"} {
		if got := read(t, root, name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	entries, err := fs.ReadDir(root, "etc")
	if err != nil || len(entries) != 2 {
		t.Errorf("/etc has %v, %v", entries, err)
	}
	if err := root.WriteFile("/data/new", []byte("x"), 0o600); err != nil || read(t, shared, "new") != "x" {
		t.Errorf("a file of a volume: %v", err)
	}
	if err := root.WriteFile("/tmp/own", []byte("x"), 0o600); err != nil || read(t, root, "tmp/own") != "x" {
		t.Errorf("a file of its own: %v", err)
	}
	for _, err := range []error{root.WriteFile("/etc/config/key", nil, 0o600), root.Mkdir("/etc/config/x"), root.Remove("/etc/config/key")} {
		if !errors.Is(err, syscall.EROFS) {
			t.Errorf("the error is %v", err)
		}
	}
	for _, name := range []string{"/data", "/data/part", "/etc/config", "/etc/one"} {
		if err := root.Remove(name); !errors.Is(err, syscall.EBUSY) {
			t.Errorf("remove %s, which is mounted: %v", name, err)
		}
	}
	if got := read(t, shared, "below/here"); got != "deep" {
		t.Errorf("the part of the volume that is mounted has %q", got)
	}
	const want = "open /none: file does not exist"
	if _, err := root.ReadFile("/none"); err == nil || err.Error() != want {
		t.Errorf("the error is %v", err)
	}
	if _, err := root.Folder("/tmp"); err == nil || err.Error() != "folder /tmp: no volume is mounted at the path" {
		t.Errorf("the error is %v", err)
	}
}

// TestReplaceOfAFolderReplacesWhatIsInTheWay has links, a directory and a file where the new files and their directories belong.
func TestReplaceOfAFolderReplacesWhatIsInTheWay(t *testing.T) {
	tree := files.NewTree()
	folder, err := tree.Folder()
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	write(t, tree, "other/file", "old")
	write(t, tree, "directory/file", "old")
	write(t, tree, "plain", "old")
	for name, target := range map[string]string{"linked": "other", "link": "other/file"} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	replaced := map[string]files.File{}
	for _, name := range []string{"linked/file", "link", "directory", "plain/file"} {
		replaced[name] = files.File{Data: []byte("new"), Mode: 0o644}
	}
	if err := tree.Replace(replaced); err != nil {
		t.Fatal(err)
	}
	var names []string
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name+" "+read(t, tree, name))
		}
		return err
	})
	if got, want := strings.Join(names, ", "), "directory new, link new, linked/file new, plain/file new"; err != nil || got != want {
		t.Errorf("the folder has %s, want %s; %v", got, want, err)
	}
}

func TestEverybodyMayWriteToVolumes(t *testing.T) {
	volume := files.NewTree()
	root, err := files.NewRoot(files.NewTree(), []files.Mount{{Path: "/data", Tree: volume}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{".": "drwxr-xr-x", "data": "drwxrwxrwx"} {
		if err := volume.Replace(map[string]files.File{"a": {Data: []byte("1"), Mode: 0o640}}); err != nil {
			t.Fatal(err)
		}
		info, err := fs.Stat(root, name)
		if err != nil || info.Mode().String() != want {
			t.Errorf("%s is %v, want %s: %v", name, info.Mode(), want, err)
		}
	}
}

func TestAProtectedRootTakesNoNewFiles(t *testing.T) {
	root, err := files.NewRoot(files.NewTree(), []files.Mount{{Path: "/data", Tree: files.NewTree()}})
	if err != nil {
		t.Fatal(err)
	}
	if err := root.WriteFile("/etc/hosts", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	root.Protect()
	for name, want := range map[string]error{"/etc/hosts": nil, "/data/a": nil, "/a": syscall.EROFS, "/etc/b": syscall.EROFS} {
		if err := root.WriteFile(name, []byte("x"), 0o644); !errors.Is(err, want) {
			t.Errorf("writing %s: %v, want %v", name, err, want)
		}
	}
	if err := root.Remove("/etc"); !errors.Is(err, syscall.EROFS) {
		t.Errorf("removing /etc: %v", err)
	}
}

func TestATreeOfAFileSystem(t *testing.T) {
	tree, err := files.TreeOf(fstest.MapFS{"a/b": {Data: []byte("first"), Mode: 0o640}, "c": {Data: []byte("second"), Mode: 0o755}})
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(tree, "a/b", "c"); err != nil {
		t.Error(err)
	}
	if info, err := fs.Stat(tree, "a/b"); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	copied := tree.Clone()
	write(t, copied, "c", "third")
	if err := copied.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if got := read(t, tree, "a/b") + " " + read(t, tree, "c") + " " + read(t, copied, "c"); got != "first second third" {
		t.Errorf("a file of the tree, one that is changed in the copy, and the change: %q", got)
	}
}

func TestATreeOfAFolderFollowsLinksToFiles(t *testing.T) {
	folder := t.TempDir()
	if err := errors.Join(
		os.WriteFile(filepath.Join(folder, "a"), []byte("text"), 0o600), os.Symlink("a", filepath.Join(folder, "link")), os.Mkdir(filepath.Join(folder, "d"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	tree, err := files.TreeOf(os.DirFS(folder))
	if err != nil || read(t, tree, "link") != "text" {
		t.Errorf("the file behind the link: %v", err)
	}
	if err := os.Symlink("d", filepath.Join(folder, "e")); err != nil {
		t.Fatal(err)
	}
	if _, err := files.TreeOf(os.DirFS(folder)); err == nil || err.Error() != "e is neither a file nor a directory" {
		t.Errorf("a link to a directory: %v", err)
	}
}

// TestATreeIsLimited writes up to the limit of a tree and beyond.
func TestATreeIsLimited(t *testing.T) {
	each(t, func(t *testing.T, tree *files.Tree) {
		usage := func(want int64) {
			t.Helper()
			if got, err := tree.Usage(); got != want || err != nil {
				t.Errorf("the tree uses %d bytes, want %d: %v", got, want, err)
			}
		}
		put := func(name string, size int) error {
			return tree.Write(name, files.File{Data: make([]byte, size), Mode: 0o644})
		}
		tree.Limit(3*4096-1, nil) // a file system has whole blocks
		if err := errors.Join(tree.Mkdir("d"), put("d/a", 4097), put("b", 1)); err != nil {
			t.Fatal(err)
		}
		usage(3 * 4096)
		if err := put("c", 1); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a file more: %v", err)
		}
		if err := put("b", 4097); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a larger file: %v", err)
		}
		if err := errors.Join(put("d/a", 4096), put("empty", 0), put("b", 8192)); err != nil {
			t.Errorf("other files of the same size: %v", err)
		}
		usage(3 * 4096)
		if err := errors.Join(tree.Remove("b"), put("c", 1)); err != nil {
			t.Errorf("after a file is removed: %v", err)
		}
		usage(2 * 4096)
		calls := 0
		tree.Limit(2*4096, func() { calls++ })
		if err := put("c", 4096); err != nil || calls != 0 {
			t.Errorf("at the limit: %v, %d calls", err, calls)
		}
		if err := put("c", 4097); err != nil || calls != 1 {
			t.Errorf("beyond the limit: %v, %d calls", err, calls)
		}
	})
}

// TestAppend proves that a reader keeps what it has opened, that a copy of the tree does not see what is appended, and that a change is announced.
func TestAppend(t *testing.T) {
	tree := files.NewTree()
	appendTo := func(to *files.Tree, text string) {
		t.Helper()
		if err := to.Append("log", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(from fs.FS) string {
		t.Helper()
		data, err := fs.ReadFile(from, "log")
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	changed := tree.Changed()
	appendTo(tree, "a")
	<-changed
	appendTo(tree, "b")
	clone := tree.Clone()
	appendTo(clone, "clone")
	appendTo(tree, "c")
	if got := read(tree) + " " + read(clone); got != "abc abclone" {
		t.Errorf("%q", got)
	}
	if err := tree.Append("", nil, 0); err == nil {
		t.Error("a file without a name is appended to")
	}
	changed = tree.Changed()
	if _, err := tree.Folder(); err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	<-changed
	appendTo(tree, "d")
	if got := read(tree); got != "abcd" || tree.Changed() != nil {
		t.Errorf("on disk: %q", got)
	}
}
