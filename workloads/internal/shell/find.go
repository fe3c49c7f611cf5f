package shell

import (
	"bufio"
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
	"unicode"
	"unicode/utf8"
)

// search is what find looks for, and does with what it finds.
type search struct {
	least, most int // how deep
	conditions  []func(name string, entry fs.DirEntry) bool
	actions     []func(ctx context.Context, name string) bool // each returns whether the next one follows
	cost        int                                           // of a byte of a name, by the conditions and their patterns
	remove      bool                                          // what is in a directory comes before it
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

// find goes through directories, and writes the names of what it finds, or does with them what -exec and -delete say.
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
		return s.runNamed(ctx, c, words, empty{})
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
			return ended
		}
	}
	if len(o.batched) > 0 && run(ctx, append(slices.Clone(o.batch), o.batched...)) != 0 {
		code = 1
	}
	return code
}

// walk calls a function with a file, and with what is below it if it is a directory, by names below it. A link is followed only if it is asked for.
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

// fill returns words with a text in place of another one.
func fill(ctx context.Context, words []string, old, text string) ([]string, error) {
	size := 0
	for _, w := range words {
		size += len(w) + strings.Count(w, old)*len(text)
	}
	if err := limitsOf(ctx).words(size); err != nil {
		return nil, err
	}
	filled := make([]string, len(words))
	for i, w := range words {
		filled[i] = strings.ReplaceAll(w, old, text)
	}
	return filled, nil
}

// errNotEmpty is that of a directory that is not removed.
var errNotEmpty = errors.New("directory not empty")

// removeEmpty removes a file, or a directory in which there is nothing.
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

// runNamed runs the program that words name, and returns its exit code.
func (s *Shell) runNamed(ctx context.Context, c *Command, words []string, in io.Reader) int {
	if limitsOf(ctx).words(sizeOf(words)) != nil {
		return failed
	}
	p := s.find(c, words[0])
	if p == nil {
		return c.fail(127, "%s: No such file or directory", words[0])
	}
	inner := *c
	inner.Args, inner.Stdin = words, in
	return p(ctx, &inner)
}

// xargs runs a command with the words of its input: -n with so many at once, -I with each line in place of a text, -0 for words that end with a zero byte, and -r not at all
// without words.
func xargs(ctx context.Context, s *Shell, c *Command) int {
	most, replace, zero, none := 0, "", false, false
	args := c.Args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		value := a[2:]
		if (a[1] == 'n' || a[1] == 'I' || a[1] == 'L') && value == "" && len(args) > 0 {
			value, args = args[0], args[1:]
		}
		switch {
		case a == "-0" || a == "--null":
			zero = true
		case a == "-r" || a == "--no-run-if-empty":
			none = true
		case a == "-0r" || a == "-r0":
			zero, none = true, true
		case a[1] == 'n':
			var err error
			if most, err = strconv.Atoi(value); err != nil || most < 1 {
				return c.fail(1, "invalid number '%s'", value)
			}
		case a[1] == 'I' && value != "":
			replace = value
		default:
			return c.fail(1, "invalid option -- '%s'", strings.TrimLeft(a, "-"))
		}
	}
	if len(args) == 0 {
		args = []string{"echo"}
	}
	words, err := xargsWords(ctx, c.Stdin, zero, replace != "")
	if err != nil {
		return c.fail(1, "%v", err)
	}
	code := 0
	run := func(words []string) {
		switch result := s.runNamed(ctx, c, words, empty{}); {
		case result == 127:
			code = 127
		case result == 255:
			code = 124
		case result != 0 && code == 0:
			code = 123
		}
	}
	stops := func() bool { return code == 127 || code == 124 || ctx.Err() != nil }
	if replace != "" {
		for _, w := range words {
			filled, err := fill(ctx, args, replace, w)
			if err != nil {
				return failed
			}
			if run(filled); stops() {
				break
			}
		}
		return code
	}
	if len(words) == 0 {
		if !none {
			run(args)
		}
		return code
	}
	if most == 0 {
		most = len(words)
	}
	for part := range slices.Chunk(words, most) {
		if run(slices.Concat(args, part)); stops() {
			break
		}
	}
	return code
}

// xargsWords reads the words of xargs, which quotes and backslashes hold together, or its lines.
func xargsWords(ctx context.Context, in io.Reader, zero, byLine bool) (words []string, err error) {
	l := limitsOf(ctx)
	r := bufio.NewReader(in)
	var word strings.Builder
	started, quote, escaped := false, byte(0), false
	size := 0
	end := func() {
		if started {
			words = append(words, word.String())
		}
		word.Reset()
		started = false
	}
	for {
		b, err := r.ReadByte()
		if err != nil {
			break
		}
		if size++; size%1024 == 0 && errors.Join(ctx.Err(), l.do(1024)) != nil || size > maxWords {
			return nil, l.words(maxWords + 1)
		}
		switch {
		case zero && b == 0, byLine && b == '\n' && !zero:
			started = started || zero
			end()
		case zero:
			started = true
			word.WriteByte(b)
		case escaped:
			escaped = false
			word.WriteByte(b)
		case quote != 0 && b == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(b)
		case b == '\'' || b == '"':
			quote, started = b, true
		case b == '\\':
			escaped, started = true, true
		case b < utf8.RuneSelf && unicode.IsSpace(rune(b)) && (!byLine || !started):
			end()
		default:
			started = true
			word.WriteByte(b)
		}
	}
	if quote != 0 {
		return nil, errors.New("unmatched quote")
	}
	end()
	return words, nil
}

// readlink writes what a link leads to, and with -f the path of a file without links.
func readlink(_ context.Context, s *Shell, c *Command) int {
	names, err := c.operands("fnemqs")
	if err != nil {
		return c.fail(1, "%v", err)
	}
	if len(names) == 0 {
		return c.fail(1, "missing operand")
	}
	if c.has("m") || path.Base(c.Args[0]) == "realpath" && c.has("s") {
		return c.fail(1, "%v", unsupported(strings.Join(c.Args, " ")))
	}
	whole := path.Base(c.Args[0]) == "realpath" || c.has("f") || c.has("e")
	end := "\n"
	if c.has("n") {
		end = ""
	}
	code := 0
	for _, name := range names {
		var target string
		if whole {
			if target, err = s.realPath(c.absolute(name)); err == nil && c.has("e") {
				_, err = fs.Lstat(s.Files, relative(target))
			}
		} else {
			target, err = fs.ReadLink(s.Files, relative(c.absolute(name)))
		}
		switch {
		case err == nil:
			_, _ = io.WriteString(c.Stdout, target+end)
		case path.Base(c.Args[0]) == "realpath":
			code = c.fail(1, "%s: %s", name, reason(err))
		default:
			code = 1 // readlink does not say why
		}
	}
	return code
}

// realPath returns a path without links. Its last element may be missing.
func (s *Shell) realPath(name string) (string, error) {
	resolved := "/"
	rest := strings.Split(strings.TrimPrefix(name, "/"), "/")
	for links := 0; len(rest) > 0; {
		element := rest[0]
		rest = rest[1:]
		place := path.Join(resolved, element) // also of ".."
		info, err := fs.Lstat(s.Files, relative(place))
		if err != nil {
			if len(rest) == 0 && errors.Is(err, fs.ErrNotExist) {
				return place, nil
			}
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			resolved = place
			continue
		}
		target, err := fs.ReadLink(s.Files, relative(place))
		if links++; links > 40 {
			err = errors.New("too many levels of symbolic links")
		}
		if err != nil {
			return "", err
		}
		if path.IsAbs(target) {
			resolved = "/"
		}
		rest = append(strings.Split(strings.TrimPrefix(target, "/"), "/"), rest...)
	}
	return resolved, nil
}

// which writes the paths of programs.
func which(_ context.Context, s *Shell, c *Command) int {
	code := 0
	for _, name := range c.Args[1:] {
		switch {
		case strings.HasPrefix(name, "-"):
		case s.find(c, name) == nil:
			code = 1
		case strings.Contains(name, "/"):
			fmt.Fprintln(c.Stdout, name)
		default:
			fmt.Fprintln(c.Stdout, "/bin/"+name)
		}
	}
	return code
}
