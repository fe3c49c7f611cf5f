package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"testing/fstest"
	"time"
)

// errEscapes is that of os.Root.
var errEscapes = errors.New("path escapes from parent")

// mostLinks is how many symbolic links Linux follows in a path.
const mostLinks = 40

// Symlink makes a symbolic link in place of a file or another link, and the directories that it lies in. The target may be any: a link that leads out of the tree is an error when it is
// followed.
func (t *Tree) Symlink(target, name string) error {
	if !fs.ValidPath(name) || name == "." {
		return &fs.PathError{Op: "symlink", Path: name, Err: fs.ErrInvalid}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.checkLimit(name, int64(len(target))); err != nil {
		return err
	}
	if t.folder != "" {
		return t.linkOnDisk(target, name)
	}
	name, err := t.resolve("symlink", name, false)
	if err != nil {
		return err
	}
	if has := t.files[name]; has != nil && has.Mode.IsDir() {
		return &fs.PathError{Op: "symlink", Path: name, Err: fs.ErrExist}
	}
	if err := t.mkdir(path.Dir(name)); err != nil {
		return err
	}
	t.files[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777, ModTime: time.Now()}
	t.linked = true
	t.notify()
	return nil
}

// linkOnDisk makes a symbolic link in the folder. The caller holds the lock.
func (t *Tree) linkOnDisk(target, name string) error {
	place := filepath.FromSlash(name)
	if info, err := t.disk.Lstat(place); err == nil && info.IsDir() {
		return &fs.PathError{Op: "symlink", Path: name, Err: fs.ErrExist}
	}
	err := errors.Join(t.disk.RemoveAll(place), t.disk.MkdirAll(filepath.Dir(place), 0o755))
	if err == nil {
		err = t.disk.Symlink(target, place)
	}
	if failed := (*os.LinkError)(nil); errors.As(err, &failed) {
		err = &fs.PathError{Op: "symlink", Path: name, Err: failed.Err}
	}
	return err
}

// resolve returns a name of a tree in memory without symbolic links in it; last is whether its last element is followed, too. The caller holds the lock.
func (t *Tree) resolve(op, name string, last bool) (string, error) {
	if !t.linked || !fs.ValidPath(name) {
		return name, nil // what uses the name has the error
	}
	resolved := name
	for range mostLinks + 1 {
		link, rest := t.firstLink(resolved, last)
		if link == "" {
			return resolved, nil
		}
		target := string(t.files[link].Data)
		resolved = path.Join(path.Dir(link), target, rest)
		if path.IsAbs(target) || !fs.ValidPath(resolved) {
			return "", &fs.PathError{Op: op, Path: name, Err: errEscapes}
		}
	}
	return "", &fs.PathError{Op: op, Path: name, Err: syscall.ELOOP}
}

// firstLink returns the first symbolic link on the way to a name, and what follows it; empty: there is none.
func (t *Tree) firstLink(name string, last bool) (link, rest string) {
	for end := 0; end < len(name); end++ {
		for end < len(name) && name[end] != '/' {
			end++
		}
		if end == len(name) && !last {
			break
		}
		if file := t.files[name[:end]]; file != nil && file.Mode&fs.ModeSymlink != 0 {
			return name[:end], name[end:]
		}
	}
	return "", ""
}
