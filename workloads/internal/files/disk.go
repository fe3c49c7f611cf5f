package files

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// This file has the operations of a tree on disk. Programs and functions that know the folder may create anything in it,
// such as symbolic links and pipes. All operations use os.Root, so no link leads out of the folder.

// Folder returns a folder on disk with the files of the tree. The first call creates it, and Close removes it.
func (t *Tree) Folder() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.folder != "" {
		return t.folder, nil
	}
	if t.closed {
		return "", fs.ErrClosed
	}
	folder, err := os.MkdirTemp("", "fakecluster-volume-")
	if err != nil {
		return "", err
	}
	disk, err := os.OpenRoot(folder)
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(folder))
	}
	t.folder, t.disk = folder, disk
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		switch file := t.files[name]; {
		case file.Mode.IsDir():
			err = disk.MkdirAll(filepath.FromSlash(name), 0o755)
		case file.Mode&fs.ModeSymlink != 0:
			err = t.linkOnDisk(string(file.Data), name)
		default:
			err = t.writeOnDisk(name, File{Data: file.Data, Mode: file.Mode})
		}
		if err != nil {
			t.folder, t.disk = "", nil
			return "", errors.Join(err, disk.Close(), os.RemoveAll(folder))
		}
	}
	t.files = nil
	t.notify()
	return folder, nil
}

// openOnDisk opens a file or a directory. It returns an error for others, such as a named pipe, without waiting for a
// writer. The caller holds the lock.
func (t *Tree) openOnDisk(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	file, err := t.disk.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("is neither a file nor a directory")}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// writeOnDisk writes a file; it replaces a link. By renaming, a reader sees the old content or the new one. The caller
// holds the lock.
func (t *Tree) writeOnDisk(name string, file File) error {
	path := filepath.FromSlash(name)
	if err := t.disk.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temporary := filepath.Join(filepath.Dir(path), ".write-"+rand.Text())
	w, err := t.disk.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = w.Write(file.Data)
	err = errors.Join(err, w.Chmod(file.Mode.Perm()), w.Close())
	if err == nil {
		err = t.disk.Rename(temporary, path)
	}
	if err != nil {
		_ = t.disk.Remove(temporary)
	}
	if failed := (*os.LinkError)(nil); errors.As(err, &failed) {
		err = &fs.PathError{Op: "write", Path: name, Err: failed.Err}
	}
	return err
}

// replaceOnDisk makes the folder contain these files and no others. The caller holds the lock.
func (t *Tree) replaceOnDisk(files map[string]File) error {
	// Remove other files first: a write through a link would go to one of them.
	err := fs.WalkDir(t.disk.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		_, keep := files[name]
		switch {
		case err != nil:
			return err
		case entry.IsDir() && !keep, keep && entry.Type().IsRegular():
			return nil
		}
		if err := t.disk.RemoveAll(filepath.FromSlash(name)); err != nil || !entry.IsDir() {
			return err
		}
		return fs.SkipDir
	})
	if err != nil {
		return err
	}
	for name, file := range files {
		if err := t.writeOnDisk(name, file); err != nil {
			return err
		}
	}
	return nil
}
