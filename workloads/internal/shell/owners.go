package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// Users and groups have no names, except for root: containers have no /etc/passwd of their image.

// nameOf returns the name of a user or a group.
func nameOf(id int64) string {
	if id == 0 {
		return "root"
	}
	return strconv.FormatInt(id, 10)
}

// idOf returns the ID of a user or a group with a name or a number.
func idOf(name string) (int64, bool) {
	if name == "root" {
		return 0, true
	}
	id, err := strconv.ParseUint(name, 10, 32)
	return int64(id), err == nil
}

// id writes the user and the groups of the program or of a user: -u the user, -g the group, -G all groups, with -n as
// names.
func id(_ context.Context, s *Shell, c *Command) int {
	who := s.Files.Identity()
	groups := []int64{who.Group}
	for _, g := range who.Groups {
		if !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	show := func(id int64) string { return strconv.FormatInt(id, 10) }
	list := func(separator string, show func(int64) string) string {
		var shown []string
		for _, g := range groups {
			shown = append(shown, show(g))
		}
		return strings.Join(shown, separator)
	}
	both := func(id int64) string {
		if id == 0 {
			return "0(root)"
		}
		return strconv.FormatInt(id, 10)
	}
	flags := ""
	for _, a := range c.Args[1:] {
		given, isFlag := strings.CutPrefix(a, "-")
		switch wrong := strings.Trim(given, "ugGnr"); {
		case isFlag && wrong != "":
			return c.fail(1, "invalid option -- '%c'", wrong[0])
		case isFlag:
			flags += given
		case a == "root" || a == "0":
			who, groups = files.Identity{}, []int64{0}
		default:
			return c.fail(1, "'%s': no such user", a)
		}
	}
	if strings.Contains(flags, "n") {
		show = nameOf
	}
	switch {
	case strings.Contains(flags, "u"):
		fmt.Fprintln(c.Stdout, show(who.User))
	case strings.Contains(flags, "g"):
		fmt.Fprintln(c.Stdout, show(who.Group))
	case strings.Contains(flags, "G"):
		fmt.Fprintln(c.Stdout, list(" ", show))
	default:
		fmt.Fprintf(c.Stdout, "uid=%s gid=%s groups=%s\n", both(who.User), both(who.Group), list(",", both))
	}
	return 0
}

func whoami(_ context.Context, s *Shell, c *Command) int {
	user := s.Files.Identity().User
	if user != 0 {
		return c.fail(1, "unknown uid %d", user)
	}
	fmt.Fprintln(c.Stdout, "root")
	return 0
}

// listedMode returns a mode in the form of ls.
func listedMode(mode fs.FileMode) string {
	kind := "-"
	switch {
	case mode.IsDir():
		kind = "d"
	case mode&fs.ModeSymlink != 0:
		kind = "l"
	case mode&fs.ModeNamedPipe != 0:
		kind = "p"
	case mode&fs.ModeSocket != 0:
		kind = "s"
	}
	shown := []byte(kind + mode.Perm().String()[1:])
	for _, special := range []struct {
		bit   fs.FileMode
		place int
		with  byte // together with x
	}{{fs.ModeSetuid, 3, 's'}, {fs.ModeSetgid, 6, 's'}, {fs.ModeSticky, 9, 't'}} {
		if mode&special.bit == 0 {
			continue
		}
		if shown[special.place] == 'x' {
			shown[special.place] = special.with
		} else {
			shown[special.place] = special.with - 'a' + 'A'
		}
	}
	return string(shown)
}

// specialBits are the bits of a mode besides the permissions, by their octal numbers.
var specialBits = map[fs.FileMode]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky}

// octal returns the number of a mode, as for chmod.
func octal(mode fs.FileMode) fs.FileMode {
	number := mode.Perm()
	for digit, bit := range specialBits {
		if mode&bit != 0 {
			number |= digit
		}
	}
	return number
}

// fromOctal returns the mode of a number.
func fromOctal(number fs.FileMode) fs.FileMode {
	mode := number & fs.ModePerm
	for digit, bit := range specialBits {
		if number&digit != 0 {
			mode |= bit
		}
	}
	return mode
}

// changeOf parses a mode of chmod, such as "0640", "u+rwX,go-w" or "g=u". It returns a function that changes the mode of
// a file.
func changeOf(text string) (func(fs.FileMode) fs.FileMode, bool) {
	if number, err := strconv.ParseUint(text, 8, 12); err == nil {
		return func(old fs.FileMode) fs.FileMode {
			mode := fromOctal(fs.FileMode(number))
			if old.IsDir() && len(text) < 5 { // chmod of GNU keeps these unless they are named
				mode |= old & (fs.ModeSetuid | fs.ModeSetgid)
			}
			return mode
		}, true
	}
	var changes []func(fs.FileMode) fs.FileMode
	for _, clause := range strings.Split(text, ",") {
		operator := strings.IndexAny(clause, "+-=")
		if operator < 0 || strings.Trim(clause[:operator], "ugoa") != "" {
			return nil, false
		}
		whom := clause[:operator]
		for rest := clause[operator:]; rest != ""; { // one or more, as in u=rw+x
			what := rest[1:]
			if next := strings.IndexAny(what, "+-="); next >= 0 {
				what = what[:next]
			}
			if strings.Trim(what, "rwxXstugo") != "" {
				return nil, false
			}
			by := rest[0]
			changes = append(changes, func(old fs.FileMode) fs.FileMode { return symbolic(old, whom, by, what) })
			rest = rest[1+len(what):]
		}
	}
	return func(mode fs.FileMode) fs.FileMode {
		for _, change := range changes {
			mode = change(mode)
		}
		return mode
	}, true
}

// symbolic returns a mode after a change such as u+x: whom is "u", operator '+' and what "x".
func symbolic(old fs.FileMode, whom string, operator byte, what string) fs.FileMode {
	var bits, mask, special, specialMask fs.FileMode
	everybody := whom == "" || strings.Contains(whom, "a")
	for shift, who := range map[int]string{6: "u", 3: "g", 0: "o"} {
		if !everybody && !strings.Contains(whom, who) {
			continue
		}
		mask |= 0o7 << shift
		var own fs.FileMode
		for _, r := range what {
			switch r {
			case 'r':
				own |= 0o4
			case 'w':
				own |= 0o2
			case 'x':
				own |= 0o1
			case 'X':
				if old.IsDir() || old&0o111 != 0 {
					own |= 0o1
				}
			case 'u', 'g', 'o':
				own |= old >> map[rune]int{'u': 6, 'g': 3, 'o': 0}[r] & 0o7
			case 's':
				if bit := map[string]fs.FileMode{"u": fs.ModeSetuid, "g": fs.ModeSetgid}[who]; bit != 0 {
					special |= bit
				}
			case 't':
				special |= fs.ModeSticky
			}
		}
		if bit := map[string]fs.FileMode{"u": fs.ModeSetuid, "g": fs.ModeSetgid}[who]; !old.IsDir() {
			specialMask |= bit
		}
		if who == "o" {
			specialMask |= fs.ModeSticky
		}
		bits |= own << shift
	}
	if whom == "" {
		bits &^= 0o022 // the umask
	}
	switch operator {
	case '+':
		return old | bits | special
	case '-':
		return old &^ (bits | special)
	}
	return old&^(mask|specialMask) | bits | special
}

// changeMode runs chmod. -R is recursive.
func changeMode(ctx context.Context, s *Shell, c *Command) int {
	args, recursive := recursiveArgs(c.Args[1:])
	if len(args) < 2 {
		return c.fail(1, "missing operand")
	}
	change, ok := changeOf(args[0])
	if !ok {
		return c.fail(1, "invalid mode: '%s'", args[0])
	}
	return s.changeEach(ctx, c, args[1:], recursive, func(name string, info fs.FileInfo) error {
		if owner, kept := files.OwnerOf(info); kept && !s.mayChange(owner) {
			return syscall.EPERM
		}
		return s.Files.Chmod(name, change(info.Mode()))
	})
}

// changeOwner runs chown, which sets the user or "user:group" of files and directories, and chgrp, which sets the group.
func changeOwner(ctx context.Context, s *Shell, c *Command) int {
	args, recursive := recursiveArgs(c.Args[1:])
	if len(args) < 2 {
		return c.fail(1, "missing operand")
	}
	user, group, both := strings.Cut(args[0], ":")
	if path.Base(c.Args[0]) == "chgrp" {
		user, group = "", args[0]
	} else if both && group == "" {
		group = user // the group of the user
	}
	var owner files.Owner
	for _, part := range []struct {
		name, what string
		id         *int64
	}{{user, "user", &owner.User}, {group, "group", &owner.Group}} {
		id, ok := idOf(part.name)
		if part.name != "" && !ok {
			return c.fail(1, "invalid %s: '%s'", part.what, part.name)
		}
		*part.id = id
	}
	return s.changeEach(ctx, c, args[1:], recursive, func(name string, info fs.FileInfo) error {
		old, _ := files.OwnerOf(info)
		wanted := old
		if user != "" {
			wanted.User = owner.User
		}
		if group != "" {
			wanted.Group = owner.Group
		}
		who := s.Files.Identity()
		own := who.Group == wanted.Group || slices.Contains(who.Groups, wanted.Group)
		if who.User != 0 && (!s.mayChange(old) || wanted.User != old.User || !own) {
			return syscall.EPERM
		}
		return s.Files.Chown(name, wanted)
	})
}

// mayChange reports whether the program may change the mode of a file with an owner.
func (s *Shell) mayChange(owner files.Owner) bool {
	who := s.Files.Identity()
	return who.User == 0 || who.User == owner.User
}

// recursiveArgs returns arguments without the flags of chmod and chown, and whether -R is one of them.
func recursiveArgs(args []string) (rest []string, recursive bool) {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0], "-Rfvch") == "" {
		recursive = recursive || strings.Contains(args[0], "R")
		args = args[1:]
	}
	return args, recursive
}

// changeEach calls a function with each file, and if recursive with the contents of directories.
func (s *Shell) changeEach(ctx context.Context, c *Command, names []string, recursive bool, change func(name string, info fs.FileInfo) error) int {
	code := 0
	for _, name := range names {
		absolute := c.absolute(name)
		failed := func(walked string, err error) {
			shown := strings.TrimSuffix(name, "/") + strings.TrimPrefix(path.Join("/", walked), strings.TrimSuffix(absolute, "/"))
			code = c.fail(1, "%s: %s", shown, reason(err))
		}
		info, err := fs.Stat(s.Files, relative(absolute))
		if err == nil && !recursive {
			err = change(absolute, info)
		}
		if err != nil || !recursive {
			if err != nil {
				failed(relative(absolute), err)
			}
			continue
		}
		_ = fs.WalkDir(s.Files, relative(absolute), func(walked string, entry fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return fs.SkipAll
			}
			var info fs.FileInfo
			if err == nil {
				if info, err = entry.Info(); err == nil && info.Mode()&fs.ModeSymlink != 0 {
					return nil // chmod -R and chown -R do not follow links
				}
			}
			if err == nil {
				err = change(path.Join("/", walked), info)
			}
			if err != nil {
				failed(walked, err)
			}
			return nil
		})
	}
	if ctx.Err() != nil {
		return Terminated
	}
	return code
}

// stat describes files. -c has a format, and --printf one with escapes and without a final newline. Formats have %n, %s,
// %a, %A, %f, %F, %u, %U, %g, %G and %Y.
func stat(_ context.Context, s *Shell, c *Command) int {
	format := "  File: %n\n  Size: %s\t%F\nAccess: (%a/%A)  Uid: (%u/%U)   Gid: (%g/%G)\nModify: %y"
	var names []string
	look, end := fs.Lstat, "\n"
	for args := c.Args[1:]; len(args) > 0; args = args[1:] {
		a := args[0]
		flag, value, inline := strings.Cut(a, "=")
		isFormat := flag == "-c" || flag == "--format" || flag == "--printf"
		if isFormat && !inline && len(args) > 1 {
			value, args, inline = args[1], args[1:], true
		}
		switch {
		case isFormat && inline:
			if format, end = value, "\n"; flag == "--printf" {
				format, end = escaped.Replace(value), ""
			}
		case a == "-L":
			look = fs.Stat
		case strings.HasPrefix(a, "-"):
			return c.fail(1, "invalid option -- '%s'", strings.TrimLeft(a, "-"))
		default:
			names = append(names, a)
		}
	}
	if len(names) == 0 {
		return c.fail(1, "missing operand")
	}
	code := 0
	for _, name := range names {
		info, err := look(s.Files, relative(c.absolute(name)))
		if err != nil {
			code = c.fail(1, "cannot stat '%s': %s", name, reason(err))
			continue
		}
		owner, _ := files.OwnerOf(info)
		_, _ = io.WriteString(c.Stdout, strings.NewReplacer(
			"%n", name, "%s", strconv.FormatInt(info.Size(), 10), "%a", fmt.Sprintf("%o", octal(info.Mode())), "%A", listedMode(info.Mode()),
			"%F", kindOf(info), "%u", strconv.FormatInt(owner.User, 10), "%U", nameOf(owner.User), "%g", strconv.FormatInt(owner.Group, 10),
			"%G", nameOf(owner.Group), "%Y", strconv.FormatInt(info.ModTime().Unix(), 10),
			"%y", info.ModTime().UTC().Format("2006-01-02 15:04:05.000000000 -0700"), "%%", "%",
		).Replace(format)+end)
	}
	return code
}

// escaped replaces the escapes of echo -e and of stat --printf.
var escaped = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\\`, `\`)

// kindOf returns stat's name for the type of a file.
func kindOf(info fs.FileInfo) string {
	switch {
	case info.IsDir():
		return "directory"
	case info.Mode()&fs.ModeSymlink != 0:
		return "symbolic link"
	case info.Mode().IsRegular() && info.Size() == 0:
		return "regular empty file"
	case info.Mode().IsRegular():
		return "regular file"
	}
	return "special file"
}

// errExists is the error of mkdir for an existing file.
var errExists = errors.New("file exists")

// mkdir creates directories. -p also creates their parents, and -m sets their mode.
func mkdir(ctx context.Context, s *Shell, c *Command) int {
	var names []string
	change := func(mode fs.FileMode) fs.FileMode { return mode }
	parents, hasMode := false, false
	for args := c.Args[1:]; len(args) > 0; args = args[1:] {
		a := args[0]
		if len(a) < 2 || a[0] != '-' {
			names = append(names, a)
			continue
		}
		text, isMode := strings.CutPrefix(a, "--mode=")
		if !isMode && strings.HasPrefix(a, "--") {
			if a != "--parents" {
				return c.fail(1, "unrecognized option '%s'", a)
			}
			parents = true
			continue
		}
		for i := 1; i < len(a) && !isMode; i++ {
			switch a[i] {
			case 'p':
				parents = true
			case 'v':
			case 'm':
				if text, isMode = a[i+1:], true; text == "" && len(args) > 1 {
					text, args = args[1], args[1:]
				}
			default:
				return c.fail(1, "invalid option -- '%c'", a[i])
			}
		}
		if isMode {
			var ok bool
			if change, ok = changeOf(text); !ok {
				return c.fail(1, "invalid mode '%s'", text)
			}
			hasMode = true
		}
	}
	code := 0
	for _, name := range names {
		if ctx.Err() != nil {
			return Terminated
		}
		absolute := c.absolute(name)
		_, err := fs.Lstat(s.Files, relative(absolute))
		exists := err == nil
		if _, err = fs.Stat(s.Files, relative(path.Dir(absolute))); parents {
			err = nil
		}
		switch {
		case exists && !parents:
			err = errExists
		case err == nil:
			err = s.Files.Mkdir(absolute)
		}
		if err == nil && hasMode && !exists {
			err = s.Files.Chmod(absolute, change(fs.ModeDir|0o755))
		}
		if err != nil {
			code = c.fail(1, "cannot create directory '%s': %s", name, reason(err))
		}
	}
	return code
}
