package files

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing/fstest"
	"time"
)

// Mount shows a part of a tree at a path of a container.
type Mount struct {
	Path     string // absolute, such as /etc/config
	Tree     *Tree
	SubPath  string // of the tree; empty: all of it
	ReadOnly bool
}

// Root is the file system of a container: a tree of its own, and volumes at their mount paths. It implements fs.FS,
// whose names have no leading slash; the other methods also take absolute paths.
type Root struct {
	own    *Tree
	mounts []Mount // the longest paths first
	// protected: its own tree is read-only, except for the existing files.
	protected bool
	identity  Identity
}

// NewRoot returns the file system of a container with its own tree, which then belongs to the root, and volumes.
func NewRoot(own *Tree, mounts []Mount) (*Root, error) {
	r := &Root{own: own, mounts: slices.Clone(mounts)}
	r.own.files["."] = &fstest.MapFile{Mode: fs.ModeDir | 0o755, ModTime: time.Now()}
	for i := range r.mounts {
		m := &r.mounts[i]
		m.Path = clean(m.Path)
		m.SubPath = clean(m.SubPath)
	}
	slices.SortStableFunc(r.mounts, func(a, b Mount) int { return len(b.Path) - len(a.Path) })
	var errs []error
	for i := len(r.mounts) - 1; i >= 0; i-- {
		// Create a directory at the mount path, so that listings show it. A read-only volume gets none.
		if in, name := r.find(path.Dir(r.mounts[i].Path), true); !in.ReadOnly {
			errs = append(errs, in.Tree.Mkdir(path.Join(name, path.Base(r.mounts[i].Path))))
		}
	}
	return r, errors.Join(errs...)
}

// Protect makes its own tree read-only, as securityContext.readOnlyRootFilesystem does. Existing files may still be
// written, because a kubelet mounts them. It must be called before the root is used concurrently.
func (r *Root) Protect() { r.protected = true }

// clean returns a name of package io/fs for a path.
func clean(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	if name == "" {
		return "."
	}
	return name
}

// find returns the mount of a name, and the name in its tree. A symbolic link that is absolute or leads out of its
// volume leads to a path of the container, which may be in another volume. With last it also follows the last element of
// the name.
func (r *Root) find(name string, last bool) (Mount, string) {
	for range mostLinks {
		m, below := r.place(name)
		to, leaves := m.Tree.leaves(m.Path, m.SubPath, below, last)
		if !leaves {
			return m, path.Join(m.SubPath, below)
		}
		name = clean(to)
	}
	// Too many links: a tree with a link to itself gives the error of Linux.
	return Mount{Tree: &Tree{linked: true, files: fstest.MapFS{"loop": {Mode: fs.ModeSymlink, Data: []byte("loop")}}}}, "loop/end"
}

// place returns the mount of a name, and the name below the mounted part, without following links.
func (r *Root) place(name string) (Mount, string) {
	for _, m := range r.mounts {
		if rest, ok := strings.CutPrefix(name, m.Path); ok && (rest == "" || rest[0] == '/') || m.Path == "." {
			if m.Path == "." {
				rest = name
			}
			return m, path.Join(".", strings.TrimPrefix(rest, "/"))
		}
	}
	readOnly := false
	if r.protected {
		info, err := fs.Stat(r.own, name)
		readOnly = err != nil || info.IsDir()
	}
	return Mount{Path: ".", Tree: r.own, SubPath: ".", ReadOnly: readOnly}, name
}

// Place identifies a file: names that lead to the same file have the same Place.
type Place struct {
	tree *Tree
	name string
}

// Place returns the Place of a name. With last it also follows the last element if that is a symbolic link. The file
// need not exist.
func (r *Root) Place(name string, last bool) (Place, error) {
	m, path := r.find(clean(name), last)
	m.Tree.mu.Lock()
	defer m.Tree.mu.Unlock()
	resolved, err := m.Tree.resolve("stat", path, last)
	return Place{m.Tree, resolved}, withPath(err, name)
}

// Below reports whether the place is below a directory, at any depth.
func (p Place) Below(directory Place) bool {
	return p.tree == directory.tree && p != directory && (directory.name == "." || strings.HasPrefix(p.name, directory.name+"/"))
}

// SameVolume reports whether two places are in the same volume.
func (p Place) SameVolume(other Place) bool { return p.tree == other.tree }

// Open implements fs.FS.
func (r *Root) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	m, path := r.find(name, true)
	return m.Tree.Open(path)
}

// Lstat implements fs.ReadLinkFS.
func (r *Root) Lstat(name string) (fs.FileInfo, error) {
	m, path := r.find(clean(name), false)
	info, err := m.Tree.Lstat(path)
	return info, withPath(err, name)
}

// ReadLink implements fs.ReadLinkFS.
func (r *Root) ReadLink(name string) (string, error) {
	m, path := r.find(clean(name), false)
	target, err := m.Tree.ReadLink(path)
	return target, withPath(err, name)
}

// ReadFile returns the content of a file.
func (r *Root) ReadFile(name string) ([]byte, error) {
	m, path := r.find(clean(name), true)
	data, err := fs.ReadFile(m.Tree, path)
	return data, withPath(err, name)
}

// WriteFile writes a file, and creates its parent directories.
func (r *Root) WriteFile(name string, data []byte, mode fs.FileMode) error {
	m, path := r.find(clean(name), true)
	if m.ReadOnly {
		return &fs.PathError{Op: "open", Path: name, Err: syscall.EROFS}
	}
	return withPath(m.Tree.Write(path, File{Data: data, Mode: mode, Owner: r.identity.Owner}), name)
}

// Symlink creates a symbolic link. It replaces a file or another link.
func (r *Root) Symlink(target, name string) error {
	m, path := r.find(clean(name), false)
	if m.ReadOnly {
		return &fs.PathError{Op: "symlink", Path: name, Err: syscall.EROFS}
	}
	return withPath(m.Tree.symlink(target, path, r.identity.Owner), name)
}

// Append appends to a file, and creates it if it does not exist.
func (r *Root) Append(name string, data []byte, mode fs.FileMode) error {
	m, path := r.find(clean(name), true)
	if m.ReadOnly {
		return &fs.PathError{Op: "open", Path: name, Err: syscall.EROFS}
	}
	return withPath(m.Tree.append(path, data, mode, r.identity.Owner), name)
}

// Changed returns a channel that is closed when the file may have changed; nil: changes cannot be observed.
func (r *Root) Changed(name string) <-chan struct{} {
	m, _ := r.find(clean(name), true)
	return m.Tree.Changed()
}

// Mkdir creates a directory and its parents. It does not replace a dangling symbolic link.
func (r *Root) Mkdir(name string) error {
	m, path := r.find(clean(name), true)
	switch {
	case m.ReadOnly:
		return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.EROFS}
	case r.dangles(clean(name), m, path):
		return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist}
	}
	return withPath(m.Tree.mkdirAs(path, r.identity.Owner), name)
}

// dangles reports whether a symbolic link in a name, for which find has returned found and inside, leads to nothing.
func (r *Root) dangles(name string, found Mount, inside string) bool {
	if m, below := r.place(name); m.Tree == found.Tree && path.Join(m.SubPath, below) == inside {
		return false // no link to another tree; mkdir of the tree checks the others
	}
	for i := range len(name) + 1 {
		if i < len(name) && name[i] != '/' {
			continue
		}
		info, err := r.Lstat(name[:i])
		if err != nil {
			return false
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			if _, err := fs.Stat(r, name[:i]); errors.Is(err, fs.ErrNotExist) {
				return true
			}
		}
	}
	return false
}

// Chmod sets the mode of a file or a directory.
func (r *Root) Chmod(name string, mode fs.FileMode) error {
	m, path := r.find(clean(name), true)
	if m.ReadOnly {
		return &fs.PathError{Op: "chmod", Path: name, Err: syscall.EROFS}
	}
	return withPath(m.Tree.Chmod(path, mode), name)
}

// Chown sets the owner of a file or a directory.
func (r *Root) Chown(name string, owner Owner) error {
	m, path := r.find(clean(name), true)
	if m.ReadOnly {
		return &fs.PathError{Op: "chown", Path: name, Err: syscall.EROFS}
	}
	return withPath(m.Tree.Chown(path, owner), name)
}

// Remove removes a file, or a directory with its contents. It returns EBUSY for a mount.
func (r *Root) Remove(name string) error {
	m, path := r.find(clean(name), false)
	switch {
	case m.Tree != r.own && path == m.SubPath:
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.EBUSY}
	case m.ReadOnly:
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.EROFS}
	}
	return withPath(m.Tree.Remove(path), name)
}

// Folder returns a folder on disk with the files at a path, which must be a mount path or below one. It is for programs
// that need paths.
func (r *Root) Folder(name string) (string, error) {
	m, inside := r.find(clean(name), true)
	if _, err := r.Place(name, true); err != nil {
		return "", err
	}
	if m.Tree == r.own {
		return "", &fs.PathError{Op: "folder", Path: name, Err: errors.New("no volume is mounted at the path")}
	}
	folder, err := m.Tree.Folder()
	if err != nil {
		return "", err
	}
	return path.Join(folder, inside), nil
}

// withPath replaces the path in an error by that of the container.
func withPath(err error, name string) error {
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		op := failed.Op
		switch op { // those of os.Root have the names of system calls
		case "unlinkat", "RemoveAll":
			op = "remove"
		case "openat", "mkdirat", "statat":
			op = strings.TrimSuffix(op, "at")
		}
		return &fs.PathError{Op: op, Path: name, Err: failed.Err}
	}
	return err
}
