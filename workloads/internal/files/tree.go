package files

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing/fstest"
	"time"
)

// File is the content of a regular file.
type File struct {
	Data  []byte
	Mode  fs.FileMode // only permissions
	Owner Owner       // of a new file; an existing file keeps its owner
}

// Tree is a tree of files, such as a volume. Names are as in package io/fs: "a/b", without a leading slash.
type Tree struct {
	mu       sync.Mutex
	files    fstest.MapFS // in memory, with entries of directories. It follows links without a limit, so it is used only with names of resolve
	linked   bool         // there may be symbolic links in memory
	folder   string       // the tree on disk; empty before Folder
	disk     *os.Root     // the folder; nil before Folder
	closed   bool
	limit    limit
	appended string // the last appended file, whose data no other tree shares
	// changed is closed when a file changes; nil: nothing waits for it.
	changed chan struct{}
}

// rootMode is the mode of a volume's root.
const rootMode = fs.ModeDir | 0o777

// NewTree returns an empty tree, whose root all users may write, as that of a volume.
func NewTree() *Tree {
	t := &Tree{files: fstest.MapFS{}}
	t.mkdir(".", Owner{})
	return t
}

// Open implements fs.FS.
func (t *Tree) Open(name string) (fs.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return unlocked{t}.Open(name)
}

// unlocked is a tree whose lock the caller holds.
type unlocked struct{ tree *Tree }

// Open implements fs.FS.
func (u unlocked) Open(name string) (fs.File, error) {
	name, err := u.tree.resolve("open", name, true)
	if err != nil {
		return nil, err
	}
	if u.tree.folder != "" {
		return u.tree.openOnDisk(name)
	}
	// An open file keeps its content: files are replaced and never changed.
	return u.tree.files.Open(name)
}

// Lstat implements fs.ReadLinkFS: it describes a symbolic link, not its target.
func (t *Tree) Lstat(name string) (fs.FileInfo, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name, err := t.resolve("lstat", name, false)
	if err != nil {
		return nil, err
	}
	if t.folder == "" {
		return t.files.Lstat(name)
	}
	return t.disk.Lstat(filepath.FromSlash(name))
}

// ReadLink implements fs.ReadLinkFS.
func (t *Tree) ReadLink(name string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name, err := t.resolve("readlink", name, false)
	if err != nil {
		return "", err
	}
	if t.folder == "" {
		return t.files.ReadLink(name)
	}
	return t.disk.Readlink(filepath.FromSlash(name))
}

// Write writes a file, and creates its parent directories.
func (t *Tree) Write(name string, file File) error {
	if !fs.ValidPath(name) || name == "." {
		return &fs.PathError{Op: "write", Path: name, Err: fs.ErrInvalid}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	name, err := t.resolve("open", name, true)
	if err != nil {
		return err
	}
	if err := t.checkLimit(name, int64(len(file.Data))); err != nil {
		return err
	}
	if t.folder != "" {
		return t.writeOnDisk(name, file)
	}
	has := t.files[name]
	if has != nil && has.Mode.IsDir() {
		return &fs.PathError{Op: "write", Path: name, Err: errors.New("is a directory")}
	}
	if err := t.mkdir(path.Dir(name), file.Owner); err != nil {
		return err
	}
	made := t.made(name, file.Mode.Perm(), slices.Clone(file.Data), file.Owner)
	if has != nil {
		made.Sys = has.Sys
	}
	t.files[name] = made
	t.notify()
	return nil
}

// Append appends to a file, and creates it with a mode if it does not exist.
func (t *Tree) Append(name string, data []byte, mode fs.FileMode) error {
	return t.append(name, data, mode, Owner{})
}

func (t *Tree) append(name string, data []byte, mode fs.FileMode, owner Owner) error {
	t.mu.Lock()
	if t.folder == "" {
		resolved, err := t.resolve("open", name, true)
		if err != nil {
			t.mu.Unlock()
			return err
		}
		name = resolved
	}
	has := t.files[name]
	if t.folder != "" || has == nil || has.Mode.IsDir() {
		t.mu.Unlock()
		return t.appendSlowly(name, data, mode, owner)
	}
	defer t.mu.Unlock()
	if err := t.checkLimit(name, int64(len(has.Data)+len(data))); err != nil {
		return err
	}
	// Readers of the old content do not see the bytes after its end. If another tree may share the data, it is copied
	// first.
	old := has.Data
	if t.appended != name {
		old = slices.Clip(old)
	}
	t.files[name], t.appended = &fstest.MapFile{Data: append(old, data...), Mode: has.Mode, ModTime: time.Now(), Sys: has.Sys}, name
	t.notify()
	return nil
}

// appendSlowly reads and rewrites the file.
func (t *Tree) appendSlowly(name string, data []byte, mode fs.FileMode, owner Owner) error {
	old, err := fs.ReadFile(t, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return t.Write(name, File{Data: append(old, data...), Mode: mode, Owner: owner})
}

// Changed returns a channel that is closed when a file of the tree changes; nil for a tree on disk, which programs
// change.
func (t *Tree) Changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.folder != "" {
		return nil
	}
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return t.changed
}

// notify wakes the waiters for a change. The caller holds the lock.
func (t *Tree) notify() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// Mkdir creates a directory and its parents. It does nothing if the directory exists.
func (t *Tree) Mkdir(name string) error { return t.mkdirAs(name, Owner{}) }

func (t *Tree) mkdirAs(name string, owner Owner) error {
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrInvalid}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	resolved, dangling, err := t.follow(name, true)
	if dangling {
		err = fs.ErrExist // a dangling link is not replaced
	}
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: err}
	}
	name = resolved
	if t.folder != "" {
		return t.disk.MkdirAll(filepath.FromSlash(name), 0o755)
	}
	return t.mkdir(name, owner)
}

// mkdir creates a directory and its parents, from the root on, because the mode of one may affect the next. The caller
// holds the lock.
func (t *Tree) mkdir(name string, owner Owner) error {
	mode := fs.ModeDir | 0o755
	switch has := t.files[name]; {
	case has != nil && !has.Mode.IsDir():
		return &fs.PathError{Op: "mkdir", Path: name, Err: errors.New("not a directory")}
	case has != nil:
		return nil
	case name == ".":
		mode = rootMode
	default:
		if err := t.mkdir(path.Dir(name), owner); err != nil {
			return err
		}
	}
	t.files[name] = t.made(name, mode, nil, owner)
	return nil
}

// Remove removes a file, or a directory with its contents. It does nothing if there is none.
func (t *Tree) Remove(name string) error {
	if !fs.ValidPath(name) || name == "." {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrInvalid}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	name, err := t.resolve("remove", name, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if t.folder != "" {
		return t.disk.RemoveAll(filepath.FromSlash(name))
	}
	defer t.notify()
	maps.DeleteFunc(t.files, func(have string, _ *fstest.MapFile) bool {
		return have == name || strings.HasPrefix(have, name+"/")
	})
	return nil
}

// Replace replaces all files of the tree, as the update of a mounted ConfigMap does. In memory the update is atomic.
func (t *Tree) Replace(files map[string]File) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.folder == "" {
		defer t.notify()
		t.files, t.linked = fstest.MapFS{".": t.files["."]}, false
		for name, file := range files {
			if err := t.mkdir(path.Dir(name), Owner{}); err != nil {
				return err
			}
			t.files[name] = t.made(name, file.Mode.Perm(), slices.Clone(file.Data), file.Owner)
		}
		return nil
	}
	return t.replaceOnDisk(files)
}

// Close removes the folder, if there is one. The tree must not be used afterwards.
func (t *Tree) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.folder == "" {
		return nil
	}
	return errors.Join(t.disk.Close(), os.RemoveAll(t.folder))
}
