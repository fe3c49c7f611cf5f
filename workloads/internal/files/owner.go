package files

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"testing/fstest"
	"time"
)

// Owner is the user and the group that a file belongs to. The zero value is root.
type Owner struct{ User, Group int64 }

// Identity is who a process runs as.
type Identity struct {
	Owner
	Groups []int64 // the supplementary ones
}

// OwnerOf returns whom a file belongs to. A tree on disk does not keep owners: its files are shown as those of root.
func OwnerOf(info fs.FileInfo) (owner Owner, kept bool) {
	sys := info.Sys()
	owner, kept = sys.(Owner)
	return owner, kept || sys == nil
}

// special are the bits of a mode that are not permissions, and that trees keep.
const special = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// made returns a new file or directory in the directory that has its place: with setgid, a directory gives its group to what is made in it. The caller
// holds the lock.
func (t *Tree) made(name string, mode fs.FileMode, data []byte, owner Owner) *fstest.MapFile {
	if in := t.files[path.Dir(name)]; name != "." && in != nil && in.Mode&fs.ModeSetgid != 0 {
		owner.Group = ownerIn(in).Group
		if mode.IsDir() {
			mode |= fs.ModeSetgid
		}
	}
	return withOwner(&fstest.MapFile{Data: data, Mode: mode, ModTime: time.Now()}, owner)
}

// withOwner gives a file an owner. Files of root, which most are, have none.
func withOwner(file *fstest.MapFile, owner Owner) *fstest.MapFile {
	if file.Sys = nil; owner != (Owner{}) {
		file.Sys = owner
	}
	return file
}

func ownerIn(file *fstest.MapFile) Owner {
	owner, _ := file.Sys.(Owner)
	return owner
}

// Share gives the root of a new tree to a group, as an fsGroup: what is made in it belongs to the group.
func (t *Tree) Share(group int64) {
	root := *t.files["."]
	root.Mode |= fs.ModeSetgid
	t.files["."] = withOwner(&root, Owner{Group: group})
}

// ShareFiles gives the root of a tree and all files in it to a group, as a kubelet does with a volume that outlives pods: the group may read the files and write
// them, unless they are read-only. With onlyRoot it does nothing if the root is already as it has to be. On disk it does nothing.
func (t *Tree) ShareFiles(group int64, readOnly, onlyRoot bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.folder != "" {
		return
	}
	mode := func(file *fstest.MapFile) fs.FileMode {
		mode := fs.FileMode(0o660)
		if readOnly {
			mode = 0o440
		}
		if file.Mode.IsDir() {
			mode |= fs.ModeSetgid | 0o110
		}
		return mode
	}
	root := t.files["."]
	if wanted := mode(root); onlyRoot && ownerIn(root).Group == group && root.Mode&wanted == wanted {
		return
	}
	defer t.notify()
	for name, file := range t.files {
		changed := *file // files are replaced and never changed
		if file.Mode&fs.ModeSymlink == 0 {
			changed.Mode |= mode(file)
		}
		owner := ownerIn(file)
		owner.Group = group
		t.files[name] = withOwner(&changed, owner)
	}
}

// Stick gives the root of a new tree the sticky bit.
func (t *Tree) Stick() {
	root := *t.files["."]
	root.Mode |= fs.ModeSticky
	t.files["."] = &root
}

// Chmod sets the mode of a file or a directory: its permissions, setuid, setgid and sticky.
func (t *Tree) Chmod(name string, mode fs.FileMode) error {
	return t.change("chmod", name, func(file *fstest.MapFile) { file.Mode = file.Mode.Type() | mode&(fs.ModePerm|special) },
		func(name string) error { return t.disk.Chmod(name, mode.Perm()) })
}

// Chown sets whom a file or a directory belongs to. On disk it does nothing.
func (t *Tree) Chown(name string, owner Owner) error {
	return t.change("chown", name, func(file *fstest.MapFile) { withOwner(file, owner) }, func(name string) error {
		_, err := t.disk.Stat(name)
		return err
	})
}

// change changes what a name leads to, in memory or on disk.
func (t *Tree) change(op, name string, inMemory func(*fstest.MapFile), onDisk func(string) error) error {
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	name, err := t.resolve(op, name, true)
	if err != nil {
		return err
	}
	if t.folder != "" {
		return onDisk(filepath.FromSlash(name))
	}
	has := t.files[name]
	if has == nil {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	changed := *has // files are replaced and never changed
	inMemory(&changed)
	t.files[name] = &changed
	t.notify()
	return nil
}

// RunAs makes an identity the owner of the files that are written from now on. It must be called before the root is shared.
func (r *Root) RunAs(identity Identity) { r.identity = identity }

// Identity returns who writes the files.
func (r *Root) Identity() Identity {
	identity := r.identity
	identity.Groups = slices.Clone(identity.Groups)
	return identity
}
