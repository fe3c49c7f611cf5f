package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// errEscapes is the error of os.Root.
var errEscapes = errors.New("path escapes from parent")

// outside is the error of a symbolic link that leads out of the tree or its searched part: to an absolute path, or to a
// path that begins in the directory above.
type outside struct {
	to    string
	above bool
}

func (outside) Error() string { return errEscapes.Error() }

func (outside) Unwrap() error { return errEscapes }

// leaves returns the path outside of the tree to which a symbolic link in a name leads, if there is one. part is the
// part of the tree that is mounted at mountPath; links in the name of the part itself are those of the volume.
func (t *Tree) leaves(mountPath, part, name string, last bool) (to string, leaves bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	top := "."
	if part != "." {
		var err error
		if top, err = t.resolve("stat", part, true); err != nil {
			return "", false // the user of the name gets the error
		}
	}
	_, _, err := t.followBelow(top, path.Join(top, name), last)
	link := outside{}
	if leaves = errors.As(err, &link); link.above {
		link.to = path.Join("/", mountPath, "..", link.to)
	}
	return link.to, leaves
}

// Follow returns a name without symbolic links, in a tree that is the file system of a machine: absolute links begin at
// its root.
func (t *Tree) Follow(name string) (string, error) {
	for range mostLinks {
		to, leaves := t.leaves("/", ".", name, true)
		if !leaves {
			break
		}
		name = clean(to)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.resolve("stat", name, true)
}

// mostLinks is the maximum of symbolic links that Linux follows in a path.
const mostLinks = 40

// Symlink creates a symbolic link and its parent directories. It replaces a file or another link. The target is not
// checked: following a link that leads out of the tree fails.
func (t *Tree) Symlink(target, name string) error { return t.symlink(target, name, Owner{}) }

func (t *Tree) symlink(target, name string, owner Owner) error {
	if !fs.ValidPath(name) || name == "." {
		return &fs.PathError{Op: "symlink", Path: name, Err: fs.ErrInvalid}
	}
	if target == "" {
		return &fs.PathError{Op: "symlink", Path: name, Err: fs.ErrNotExist}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	name, err := t.resolve("symlink", name, false)
	if err != nil {
		return err
	}
	if err := t.checkLimit(name, int64(len(target))); err != nil {
		return err
	}
	if t.folder != "" {
		return t.linkOnDisk(target, name)
	}
	if has := t.files[name]; has != nil && has.Mode.IsDir() {
		return &fs.PathError{Op: "symlink", Path: name, Err: fs.ErrExist}
	}
	if err := t.mkdir(path.Dir(name), owner); err != nil {
		return err
	}
	t.files[name] = t.made(name, fs.ModeSymlink|0o777, []byte(target), owner)
	t.linked = true
	t.notify()
	return nil
}

// linkOnDisk creates a symbolic link in the folder. The caller holds the lock.
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

// resolve returns a name without symbolic links, in memory and on disk. With last it also follows the last element. It
// returns an error for a link that leads out of the tree. The caller holds the lock.
func (t *Tree) resolve(op, name string, last bool) (string, error) {
	resolved, _, err := t.follow(name, last)
	if err != nil {
		return "", &fs.PathError{Op: op, Path: name, Err: err}
	}
	return resolved, nil
}

// follow resolves a name element by element, as a system does: ".." in the target of a link is the parent of the
// directory to which the elements before lead. Elements after the links may not exist; dangling is true if the last link
// leads to nothing. The caller holds the lock.
func (t *Tree) follow(name string, last bool) (resolved string, dangling bool, err error) {
	return t.followBelow(".", name, last)
}

// followBelow is follow for a name below a directory. It returns an error for a link out of the directory.
func (t *Tree) followBelow(top, name string, last bool) (resolved string, dangling bool, err error) {
	if t.folder == "" && !t.linked || !fs.ValidPath(name) {
		return name, false, nil // the user of the name gets the error
	}
	resolved = top
	if name == top {
		return top, false, nil
	}
	rest, inTarget := strings.Split(strings.TrimPrefix(name, top+"/"), "/"), 0
	for links := 0; len(rest) > 0; {
		element, ofTarget := rest[0], inTarget > 0
		rest, inTarget = rest[1:], max(inTarget-1, 0)
		switch element {
		case "..":
			if resolved == top {
				return "", false, outside{to: path.Join(rest...), above: true}
			}
			resolved = path.Dir(resolved)
			continue
		case ".", "":
			continue
		}
		place := path.Join(resolved, element)
		if len(rest) == 0 && !last {
			return place, false, nil
		}
		mode, target, err := t.lookup(place)
		switch missing := errors.Is(err, fs.ErrNotExist); {
		case missing && len(rest) == 0:
			return place, ofTarget, nil
		case ofTarget && missing:
			return "", true, fs.ErrNotExist
		case ofTarget && err != nil:
			return "", false, err
		case err != nil:
			return path.Join(place, path.Join(rest...)), false, nil
		case mode&fs.ModeSymlink != 0:
			if links++; links > mostLinks {
				return "", false, syscall.ELOOP
			}
			if path.IsAbs(target) {
				return "", false, outside{to: path.Join(target, path.Join(rest...))}
			}
			elements := strings.Split(target, "/")
			rest, inTarget = append(elements, rest...), inTarget+len(elements)
			continue
		case !mode.IsDir() && len(rest) > 0 && ofTarget:
			return "", false, syscall.ENOTDIR
		case !mode.IsDir() && len(rest) > 0:
			return path.Join(place, path.Join(rest...)), false, nil
		}
		resolved = place
	}
	return resolved, false, nil
}

// lookup returns the mode of a name, and the target of a link. The name has no symbolic link before its last element.
// The caller holds the lock.
func (t *Tree) lookup(name string) (mode fs.FileMode, target string, err error) {
	if t.folder == "" {
		file := t.files[name]
		if file == nil {
			return 0, "", fs.ErrNotExist
		}
		if file.Mode&fs.ModeSymlink != 0 {
			target = string(file.Data)
		}
		return file.Mode, target, nil
	}
	place := filepath.FromSlash(name)
	info, err := t.disk.Lstat(place)
	if err == nil {
		if mode = info.Mode(); mode&fs.ModeSymlink != 0 {
			target, err = t.disk.Readlink(place)
		}
	}
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	return mode, target, err
}
