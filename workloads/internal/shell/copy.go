package shell

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// dd copies its input, or if=, to its output, or of=.
func dd(ctx context.Context, s *Shell, c *Command) int {
	in, out, size, count, quiet := c.Stdin, c.Stdout, int64(512), int64(-1), false
	begin := time.Now()
	for _, a := range c.Args[1:] {
		name, value, _ := strings.Cut(a, "=")
		var err error
		switch name {
		case "if":
			if in, err = s.open(ctx, c, value); err != nil {
				return c.fail(1, "can't open '%s': %s", value, reason(err))
			}
		case "of":
			if out, err = s.create(ctx, c, value, false); err != nil {
				return c.fail(1, "can't open '%s': %s", value, reason(err))
			}
		case "bs":
			if size, err = byteSize(value); err != nil || size == 0 {
				return c.fail(1, "invalid number '%s'", value)
			}
		case "count":
			if count, err = byteSize(value); err != nil {
				return c.fail(1, "invalid number '%s'", value)
			}
		case "status":
			quiet = value == "none"
		case "conv":
			for _, v := range strings.Split(value, ",") {
				if v != "fsync" && v != "fdatasync" && v != "notrunc" && v != "noerror" {
					return c.fail(1, "%v", unsupported("conv="+v))
				}
			}
		case "iflag", "oflag":
		default:
			return c.fail(1, "%v", unsupported(a))
		}
	}
	if count >= 0 {
		if count > maxHeld/size {
			count = maxHeld/size + 1 // the limit of a file ends it
		}
		in = io.LimitReader(in, size*count)
	}
	n, err := io.Copy(out, in)
	if !quiet {
		records := fmt.Sprintf("%d+%d", n/size, min(n%size, 1))
		fmt.Fprintf(c.Stderr, "%s records in\n%s records out\n%d bytes copied, %f seconds\n", records, records, n, time.Since(begin).Seconds())
	}
	if err != nil {
		return 1
	}
	return 0
}

// byteSize returns a number with a unit such as k and M.
func byteSize(text string) (int64, error) {
	number := strings.TrimRight(text, "kKMGB")
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("invalid number %q", text)
	}
	switch strings.TrimSuffix(text[len(number):], "B") {
	case "k", "K":
		n <<= 10
	case "M":
		n <<= 20
	case "G":
		n <<= 30
	}
	return n, nil
}

// operands returns the arguments that are not flags. flags are the known flags.
func (c *Command) operands(flags string) ([]string, error) {
	var rest []string
	for _, a := range c.Args[1:] {
		if given, ok := strings.CutPrefix(a, "-"); ok && given != "" {
			if wrong := strings.Trim(given, flags); wrong != "" {
				return nil, fmt.Errorf("invalid option -- '%s'", wrong[:1])
			}
			continue
		}
		rest = append(rest, a)
	}
	return rest, nil
}

// ln creates symbolic links with -s. -f replaces existing files, and -n replaces a link to a directory instead of
// following it.
func ln(ctx context.Context, s *Shell, c *Command) int {
	flags, names := "", []string(nil)
	for _, a := range c.Args[1:] {
		if len(a) > 1 && a[0] == '-' {
			flags += a[1:]
			continue
		}
		names = append(names, a)
	}
	switch {
	case strings.Trim(flags, "sfnvT") != "":
		return c.fail(1, "invalid option -- '%c'", strings.Trim(flags, "sfnvT")[0])
	case !strings.Contains(flags, "s"):
		return c.fail(1, "%v", unsupported("a hard link"))
	case len(names) == 0:
		return c.fail(1, "missing file operand")
	case len(names) == 1:
		names = append(names, ".")
	}
	last := names[len(names)-1]
	look := fs.Stat
	if strings.Contains(flags, "n") {
		look = fs.Lstat
	}
	info, err := look(s.Files, relative(c.absolute(last)))
	into := err == nil && info.IsDir() && !strings.Contains(flags, "T")
	if len(names) > 2 && !into {
		return c.fail(1, "target '%s' is not a directory", last)
	}
	code := 0
	for _, target := range names[:len(names)-1] {
		if ctx.Err() != nil {
			return Terminated
		}
		link := last
		if into {
			link = path.Join(last, path.Base(target))
		}
		_, err := fs.Lstat(s.Files, relative(c.absolute(link)))
		if err == nil && !strings.Contains(flags, "f") {
			err = errExists
		} else {
			err = s.Files.Symlink(target, c.absolute(link))
		}
		if err != nil {
			code = c.fail(1, "failed to create symbolic link '%s': %s", link, reason(err))
		}
	}
	return code
}

// timeout ends a command after a time, with the exit code 143, as in busybox.
func timeout(ctx context.Context, s *Shell, c *Command) int {
	args := c.Args[1:]
	if len(args) < 2 {
		return c.fail(1, "a time and a command are needed")
	}
	limit, err := interval(args[0])
	if err != nil {
		return c.fail(1, "%v", err)
	}
	p := s.find(c, args[1])
	if p == nil {
		return c.fail(127, "can't execute '%s': No such file or directory", args[1])
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	inner := *c
	inner.Args = args[1:]
	code := p(ctx, &inner)
	if ctx.Err() != nil {
		return Terminated
	}
	return code
}

// nohup runs a command.
func nohup(ctx context.Context, s *Shell, c *Command) int {
	inner := *c
	if inner.Args = c.Args[1:]; len(inner.Args) == 0 {
		return c.fail(1, "a command is needed")
	}
	p := s.find(c, inner.Args[0])
	if p == nil {
		return c.fail(127, "can't execute '%s': No such file or directory", inner.Args[0])
	}
	return p(ctx, &inner)
}

// basename writes the last element of a path, without a suffix; as dirname, it writes the rest of the path.
func basename(_ context.Context, _ *Shell, c *Command) int {
	if len(c.Args) < 2 {
		return c.fail(1, "a path is needed")
	}
	text := path.Base(c.Args[1])
	if path.Base(c.Args[0]) == "dirname" {
		text = path.Dir(strings.TrimRight(c.Args[1], "/"))
	} else if len(c.Args) > 2 && text != c.Args[2] {
		text = strings.TrimSuffix(text, c.Args[2])
	}
	fmt.Fprintln(c.Stdout, text)
	return 0
}
