package shell

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// copier copies or moves files.
type copier struct {
	shell     *Shell
	command   *Command
	moves     bool
	recursive bool
	given     bool // links in the arguments are followed
	follow    bool // links in directories are followed
	keep      bool // existing files are not replaced
	preserve  bool // owners and modes are preserved
	// from and to are the directories that are being copied, and their copies. A directory must not be copied again, or
	// into itself.
	from, to []files.Place
}

// cp copies files, and directories with -r. The last of -a, -L and -P decides whether links are followed. Without them,
// -r does not follow links.
func cp(ctx context.Context, s *Shell, c *Command) int {
	t := copier{shell: s, command: c, recursive: c.has("r") || c.has("R") || c.has("a")}
	t.given, t.preserve = !t.recursive, c.has("p") || c.has("a")
	for _, a := range c.Args[1:] {
		if !strings.HasPrefix(a, "-") {
			continue
		}
		if i := strings.LastIndexAny(a, "aLP"); i >= 0 {
			t.follow = a[i] == 'L'
			t.given = t.follow
		}
	}
	return t.run(ctx, "rRafpLPT")
}

// mv moves files, directories and links.
func mv(ctx context.Context, s *Shell, c *Command) int {
	t := copier{shell: s, command: c, moves: true, recursive: true, preserve: true, keep: c.has("n")}
	return t.run(ctx, "fTn")
}

// run transfers all arguments but the last one, which is the destination.
func (t *copier) run(ctx context.Context, flags string) (code int) {
	c, s := t.command, t.shell
	names, err := c.operands(flags)
	if err != nil {
		return c.fail(1, "%v", err)
	}
	if len(names) < 2 {
		return c.fail(1, "missing file operand")
	}
	to := c.absolute(names[len(names)-1])
	target, err := fs.Stat(s.Files, relative(to))
	into := err == nil && target.IsDir() && !c.has("T")
	switch {
	case len(names) > 2 && c.has("T"):
		return c.fail(1, "extra operand '%s'", names[2])
	case len(names) > 2 && !into:
		return c.fail(1, "target '%s' is not a directory", names[len(names)-1])
	}
	for _, name := range names[:len(names)-1] {
		if !t.one(ctx, name, to, into) {
			code = 1
		}
	}
	return code
}

// one transfers one file to a path, or into a directory, and reports whether it succeeded.
func (t *copier) one(ctx context.Context, name, to string, into bool) bool {
	from, contents := t.command.absolute(name), strings.HasSuffix(name, "/.")
	stat := fs.Lstat
	if t.given || !t.moves && (contents || strings.HasSuffix(name, "/")) {
		stat = fs.Stat
	}
	info, err := stat(t.shell.Files, relative(from))
	if err != nil {
		return t.fail("can't stat '%s': %s", name, reason(err))
	}
	if into && !contents {
		to = path.Join(to, path.Base(from))
	}
	if t.keep {
		if _, err := fs.Lstat(t.shell.Files, relative(to)); err == nil {
			return true
		}
	}
	switch {
	case info.IsDir() && t.within(to, from):
		return t.fail("cannot copy a directory, '%s', into itself", name)
	case into && contents && info.IsDir() && t.recursive:
		if !t.copyDirectory(ctx, from, to) || !t.keepOwner(from, to, info) { // to may be a link to a directory
			return false
		}
	case !t.copy(ctx, from, to, info):
		return false
	}
	if !t.moves {
		return true
	}
	err = t.shell.Files.Remove(from)
	return err == nil || t.fail("cannot remove '%s': %s", name, reason(err))
}

// fail writes an error, and returns false.
func (t *copier) fail(format string, args ...any) bool {
	t.command.fail(1, format, args...)
	return false
}

// within reports whether a place is below a directory.
func (t *copier) within(place, directory string) bool {
	if strings.HasPrefix(place, strings.TrimSuffix(directory, "/")+"/") {
		return true
	}
	inner, err := t.shell.Files.Place(place, true)
	outer, wrong := t.shell.Files.Place(directory, true)
	return err == nil && wrong == nil && inner.Below(outer)
}

// copy copies the file, directory or link that info describes.
func (t *copier) copy(ctx context.Context, from, to string, info fs.FileInfo) bool {
	if ctx.Err() != nil {
		return false
	}
	if info.IsDir() && !t.recursive {
		return t.fail("omitting directory '%s'", from)
	}
	if there, err := fs.Lstat(t.shell.Files, relative(to)); err == nil && !t.replaceable(from, to, info, there) {
		return false
	}
	if info.IsDir() {
		return t.copyDirectory(ctx, from, to) && t.keepOwner(from, to, info)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := fs.ReadLink(t.shell.Files, relative(from))
		if err == nil {
			err = t.shell.Files.Symlink(target, to)
		}
		return err == nil || t.fail("cannot create symbolic link '%s': %s", to, reason(err))
	}
	data, err := t.shell.read(ctx, from)
	if err != nil {
		return t.fail("can't open '%s': %s", from, reason(err))
	}
	if t.moves {
		err = t.shell.unlink(to)
	}
	if err == nil {
		err = t.shell.Files.WriteFile(to, data, info.Mode().Perm())
	}
	if err != nil {
		return t.fail("can't create '%s': %s", to, reason(err))
	}
	return t.keepOwner(from, to, info)
}

// keepOwner gives a copy the owner and the mode of the original, if they are to be preserved. Only root may give files
// away, except by a move within a file system, which renames.
func (t *copier) keepOwner(from, to string, info fs.FileInfo) bool {
	if !t.preserve {
		return true
	}
	s := t.shell
	owner, kept := files.OwnerOf(info)
	who := s.Files.Identity()
	switch {
	case !kept:
	case who.User == 0, t.moves && s.sameVolume(from, to):
		if err := s.Files.Chown(to, owner); err != nil {
			return t.fail("can't preserve ownership of '%s': %s", to, reason(err))
		}
	case owner.Group == who.Group || slices.Contains(who.Groups, owner.Group):
		if err := s.Files.Chown(to, files.Owner{User: who.User, Group: owner.Group}); err != nil {
			return t.fail("can't preserve ownership of '%s': %s", to, reason(err))
		}
	}
	err := s.Files.Chmod(to, info.Mode())
	return err == nil || t.fail("can't preserve permissions of '%s': %s", to, reason(err))
}

// sameVolume reports whether two files are in the same file system.
func (s *Shell) sameVolume(a, b string) bool {
	in, err := s.Files.Place(a, false)
	other, wrong := s.Files.Place(b, false)
	return err == nil && wrong == nil && in.SameVolume(other)
}

// replaceable reports whether a file may replace an existing one.
func (t *copier) replaceable(from, to string, info, there fs.FileInfo) bool {
	link, onLink := info.Mode()&fs.ModeSymlink != 0, there.Mode()&fs.ModeSymlink != 0
	through := onLink && !link && !t.moves // writes to the target of the link; otherwise the link is replaced
	last := !onLink || through
	source, err := t.shell.Files.Place(from, last)
	target, wrong := t.shell.Files.Place(to, last)
	switch {
	case err == nil && wrong == nil && source == target && (t.moves || last):
		return t.fail("'%s' and '%s' are the same file", from, to)
	case info.IsDir() && !there.IsDir():
		return t.fail("cannot overwrite non-directory '%s' with directory '%s'", to, from)
	case !info.IsDir() && there.IsDir():
		return t.fail("cannot overwrite directory '%s' with non-directory", to)
	case through:
		if _, err := fs.Stat(t.shell.Files, relative(to)); errors.Is(err, fs.ErrNotExist) {
			return t.fail("not writing through dangling symlink '%s'", to)
		}
	}
	return true
}

// copyDirectory copies the contents of a directory. It continues after an error.
func (t *copier) copyDirectory(ctx context.Context, from, to string) bool {
	source, err := t.shell.Files.Place(from, true)
	if err != nil {
		return t.fail("can't open '%s': %s", from, reason(err))
	}
	switch {
	case slices.Contains(t.from, source):
		return t.fail("cannot copy cyclic symbolic link '%s'", from)
	case slices.Contains(t.to, source):
		return t.fail("cannot copy a directory, '%s', into itself", from)
	}
	entries, err := fs.ReadDir(t.shell.Files, relative(from))
	if err != nil {
		return t.fail("can't open '%s': %s", from, reason(err))
	}
	target, err := t.shell.Files.Place(to, true)
	if err == nil {
		err = t.shell.Files.Mkdir(to)
	}
	if err != nil {
		return t.fail("can't create directory '%s': %s", to, reason(err))
	}
	t.from, t.to = append(t.from, source), append(t.to, target)
	defer func() { t.from, t.to = t.from[:len(t.from)-1], t.to[:len(t.to)-1] }()
	stat := fs.Lstat
	if t.follow {
		stat = fs.Stat
	}
	copied := true
	for _, entry := range entries {
		inner := path.Join(from, entry.Name())
		if info, err := stat(t.shell.Files, relative(inner)); err != nil {
			copied = t.fail("can't stat '%s': %s", inner, reason(err))
		} else if !t.copy(ctx, inner, path.Join(to, entry.Name()), info) {
			copied = false
		}
	}
	return copied
}
