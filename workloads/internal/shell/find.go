package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// search is the expression of find.
type search struct {
	least, most int // how deep
	conditions  []func(name string, entry fs.DirEntry) bool
	actions     []func(ctx context.Context, name string) bool // each returns whether the next one follows
	cost        int                                           // of a byte of a name, by the conditions and their patterns
	remove      bool                                          // the contents of a directory come before it
	batch       []string                                      // the command of -exec … +
	batched     []string                                      // its words
}

// findOptions reads the expression of find: -name, -iname, -path, -type, -maxdepth, -mindepth, -not, -print, -print0, -delete and -exec. run runs a command.
func findOptions(args []string, write func(text string) bool, run func(ctx context.Context, words []string) int, remove func(name string) bool) (o *search, err error) {
	o = &search{most: math.MaxInt}
	acts, negated := false, false
	add := func(condition func(string, fs.DirEntry) bool) {
		if not := negated; not {
			inner := condition
			condition = func(name string, entry fs.DirEntry) bool { return !inner(name, entry) }
		}
		negated = false
		o.conditions = append(o.conditions, condition)
	}
	for len(args) > 0 {
		flag := args[0]
		args = args[1:]
		value := ""
		switch flag {
		case "-name", "-iname", "-path", "-type", "-maxdepth", "-mindepth":
			if len(args) == 0 {
				return o, fmt.Errorf("missing argument to '%s'", flag)
			}
			value, args = args[0], args[1:]
			o.cost += len(value)
		}
		if o.cost++; acts && slices.Contains([]string{"-name", "-iname", "-path", "-type", "!", "-not"}, flag) {
			return o, unsupported("a condition of find behind an action")
		}
		switch flag {
		case "-a", "-and":
		case "!", "-not":
			negated = !negated
		case "-name", "-iname", "-path":
			value = strings.ReplaceAll(value, "[!", "[^")
			if _, err := path.Match(value, ""); err != nil {
				return o, fmt.Errorf("%w: %s", err, value)
			}
			add(func(name string, _ fs.DirEntry) bool {
				pattern := value
				switch flag {
				case "-name":
					name = path.Base(name)
				case "-iname":
					name, pattern = strings.ToLower(path.Base(name)), strings.ToLower(pattern)
				default: // "*" of a path is also "/"
					name, pattern = strings.ReplaceAll(name, "/", "\x00"), strings.ReplaceAll(pattern, "/", "\x00")
				}
				matches, _ := path.Match(pattern, name)
				return matches
			})
		case "-type":
			if len(value) != 1 || !strings.Contains("fdlps", value) {
				return o, fmt.Errorf("unknown argument to -type: %s", value)
			}
			add(func(_ string, entry fs.DirEntry) bool {
				return strings.HasPrefix(listedMode(entry.Type()), strings.Replace(value, "f", "-", 1))
			})
		case "-maxdepth", "-mindepth":
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 {
				return o, fmt.Errorf("expected a number after '%s'", flag)
			}
			if flag == "-maxdepth" {
				o.most = n
			} else {
				o.least = n
			}
		case "-print", "-print0":
			end := map[string]string{"-print": "\n", "-print0": "\x00"}[flag]
			acts = true
			o.actions = append(o.actions, func(_ context.Context, name string) bool { return write(name + end) })
		case "-delete":
			acts, o.remove = true, true
			o.actions = append(o.actions, func(_ context.Context, name string) bool { return remove(name) })
		case "-exec":
			end := slices.IndexFunc(args, func(a string) bool { return a == ";" || a == "+" })
			if end < 1 {
				return o, errors.New("missing argument to '-exec'")
			}
			words, batch := args[:end], args[end] == "+"
			args = args[end+1:]
			if batch {
				if words[len(words)-1] != "{}" || o.batch != nil {
					return o, unsupported("-exec of find without {} at its end")
				}
				o.batch = words[:len(words)-1]
				o.actions = append(o.actions, func(_ context.Context, name string) bool {
					o.batched = append(o.batched, name)
					return true
				})
			} else {
				o.actions = append(o.actions, func(ctx context.Context, name string) bool {
					filled, err := fill(ctx, words, "{}", name)
					return err == nil && run(ctx, filled) == 0
				})
			}
			acts = true
		default:
			return o, unsupported(flag + " of find")
		}
	}
	if !acts {
		o.actions = append(o.actions, func(_ context.Context, name string) bool { return write(name + "\n") })
	}
	return o, nil
}

// find searches directories, and writes the names of the files found, or runs -exec and -delete for them.
func find(ctx context.Context, s *Shell, c *Command) int {
	args := c.Args[1:]
	start := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") || a == "!" || a == "(" })
	if start < 0 {
		start = len(args)
	}
	names := args[:start]
	if len(names) == 0 {
		names = []string{"."}
	}
	code := 0
	run := func(ctx context.Context, words []string) int {
		return s.runNamed(ctx, c, words, strings.NewReader(""))
	}
	write := func(text string) bool {
		_, err := io.WriteString(c.Stdout, text)
		return err == nil
	}
	o, err := findOptions(args[start:], write, run, func(name string) bool {
		if base := path.Base(name); base == "." || base == ".." {
			return true
		}
		err := s.removeEmpty(c.absolute(name))
		if err != nil {
			code = c.fail(1, "%s: %s", name, reason(err))
		}
		return err == nil
	})
	if err != nil {
		return c.fail(1, "%v", err)
	}
	act := func(name string) {
		for _, action := range o.actions {
			if ctx.Err() != nil || !action(ctx, name) {
				break
			}
		}
	}
	l, held := limitsOf(ctx), 0
	defer func() { l.release(held) }()
	for _, top := range names {
		if top == "" { // of a variable that is not set
			code = c.fail(1, "'': %s", reason(fs.ErrNotExist))
			continue
		}
		var found []string // with -delete
		err := s.walk(c.absolute(top), strings.HasSuffix(top, "/"), func(below string, entry fs.DirEntry, err error) error {
			name, depth := top, 0
			if below != "" {
				name, depth = strings.TrimSuffix(top, "/")+"/"+below, strings.Count(below, "/")+1
			}
			held += len(name)
			if stopped := errors.Join(ctx.Err(), l.do(o.cost*(1+len(name))), l.hold(len(name))); stopped != nil {
				return stopped
			}
			if err != nil {
				code = c.fail(1, "%s: %s", name, reason(err))
				return nil
			}
			matches := depth >= o.least
			for _, condition := range o.conditions {
				matches = matches && condition(name, entry)
			}
			switch {
			case matches && o.remove:
				found = append(found, name)
			case matches:
				act(name)
			}
			if entry.IsDir() && depth >= o.most {
				return fs.SkipDir
			}
			return nil
		})
		for _, name := range slices.Backward(found) {
			act(name)
		}
		if err != nil || ctx.Err() != nil {
			return Terminated
		}
	}
	if len(o.batched) > 0 && run(ctx, append(slices.Clone(o.batch), o.batched...)) != 0 {
		code = 1
	}
	return code
}

// walk calls a function with a file and, if it is a directory, all files below it, with names relative to it. With
// follow it follows top if that is a link.
func (s *Shell) walk(top string, follow bool, do func(below string, entry fs.DirEntry, err error) error) error {
	top = relative(top)
	if info, err := fs.Lstat(s.Files, top); err == nil && info.Mode()&fs.ModeSymlink != 0 && !follow {
		if err = do("", fs.FileInfoToDirEntry(info), nil); errors.Is(err, fs.SkipDir) {
			return nil
		}
		return err
	}
	return fs.WalkDir(s.Files, top, func(walked string, entry fs.DirEntry, err error) error {
		below := strings.TrimPrefix(strings.TrimPrefix(walked, top), "/")
		if top == "." && walked != "." {
			below = walked
		} else if top == "." {
			below = ""
		}
		return do(below, entry, err)
	})
}

// errNotEmpty is the error for a directory that is not empty.
var errNotEmpty = errors.New("directory not empty")

// removeEmpty removes a file or an empty directory.
func (s *Shell) removeEmpty(name string) error {
	if info, err := fs.Lstat(s.Files, relative(name)); err == nil && info.IsDir() {
		entries, err := fs.ReadDir(s.Files, relative(name))
		if err == nil && len(entries) > 0 {
			err = errNotEmpty
		}
		if err != nil {
			return err
		}
	}
	return s.Files.Remove(name)
}
