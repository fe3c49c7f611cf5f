package files

import (
	"fmt"
	"io/fs"
	"maps"
	"testing/fstest"
)

// TreeOf returns a tree with the files of a file system, which it reads at once. Symbolic links are replaced by their
// targets.
func TreeOf(from fs.FS) (*Tree, error) {
	t := NewTree()
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := fs.Stat(from, name)
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			t.files[name] = &fstest.MapFile{Mode: fs.ModeDir | info.Mode().Perm(), ModTime: info.ModTime()}
			return nil
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is neither a file nor a directory", name)
		}
		data, err := fs.ReadFile(from, name)
		t.files[name] = &fstest.MapFile{Data: data, Mode: info.Mode().Perm(), ModTime: info.ModTime()}
		return err
	})
	return t, err
}

// Clone returns a tree with the same files. It must not be called after Folder.
func (t *Tree) Clone() *Tree {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.appended = ""
	return &Tree{files: maps.Clone(t.files), linked: t.linked} // files are replaced and never changed
}
