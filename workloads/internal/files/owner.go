package files

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"testing/fstest"
	"time"
)

// Owner is the user and the group of a file. The zero value is root.
type Owner struct{ User, Group int64 }

// Identity is the user and the groups of a process.
type Identity struct {
	Owner
	Groups []int64 // supplementary groups
}

// OwnerOf returns the owner of a file, and whether the tree keeps owners. A tree on disk does not: its files are shown
// as root's.
func OwnerOf(info fs.FileInfo) (owner Owner, kept bool) {
	sys := info.Sys()
	owner, kept = sys.(Owner)
	return owner, kept || sys == nil
}

// special are the bits of a mode that trees keep besides permissions.
const special = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// made returns a new file or directory. It gets the group of its parent directory if that has setgid. The caller holds
// the lock.
func (t *Tree) made(name string, mode fs.FileMode, data []byte, owner Owner) *fstest.MapFile {
	if in := t.files[path.Dir(name)]; name != "." && in != nil && in.Mode&fs.ModeSetgid != 0 {
		owner.Group = ownerIn(in).Group
		if mode.IsDir() {
			mode |= fs.ModeSetgid
		}
	}
	return withOwner(&fstest.MapFile{Data: data, Mode: mode, ModTime: time.Now()}, owner)
}

// withOwner sets the owner of a file. Files of root, which most are, have none.
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

// Share gives the root of a new tree to a group, as an fsGroup. New files in it belong to the group.
func (t *Tree) Share(group int64) {
	root := *t.files["."]
	root.Mode |= fs.ModeSetgid
	t.files["."] = withOwner(&root, Owner{Group: group})
}

// ShareFiles gives the root of a tree and all files in it to a group, as a kubelet does with a volume that outlives
// pods. The group may read the files, and write them unless readOnly. With onlyRoot it does nothing if the root has the
// right group and mode. On disk it does nothing.
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

// Chown sets the owner of a file or a directory. On disk it does nothing.
func (t *Tree) Chown(name string, owner Owner) error {
	return t.change("chown", name, func(file *fstest.MapFile) { withOwner(file, owner) }, func(name string) error {
		_, err := t.disk.Stat(name)
		return err
	})
}

// change changes the file or directory to which a name leads, in memory or on disk.
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

// RunAs sets the identity that writes files from now on. It must be called before the root is used concurrently.
func (r *Root) RunAs(identity Identity) { r.identity = identity }

// Identity returns the identity that writes files.
func (r *Root) Identity() Identity {
	identity := r.identity
	identity.Groups = slices.Clone(identity.Groups)
	return identity
}
