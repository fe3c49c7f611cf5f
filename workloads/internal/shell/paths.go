package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"strings"
)

// readlink writes the target of a link, and with -f the path of a file without links.
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
			code = 1 // readlink writes no error
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

// mktemp creates a file with a new name, or a directory with -d. With -u it creates nothing.
func mktemp(_ context.Context, s *Shell, c *Command) int {
	template, directory, dry, temporary, folder := "", false, false, false, ""
	args := flagReader{args: c.Args[1:], valued: "p"}
	for args.next() {
		switch args.name {
		case "":
			template = args.value()
		case "d":
			directory = true
		case "p":
			folder = args.value()
		case "t":
			temporary = true
		case "u":
			dry = true
		case "q":
		default:
			return c.fail(1, "invalid option -- '%s'", args.name)
		}
	}
	if folder == "" && (temporary || template == "") {
		folder = "/tmp"
	}
	template = cmp.Or(template, "tmp.XXXXXXXXXX")
	prefix := strings.TrimRight(template, "X")
	missing := len(template) - len(prefix)
	if missing < 3 {
		return c.fail(1, "too few X's in template '%s'", template)
	}
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	seed := fnv.New64a()
	_, _ = io.WriteString(seed, s.Hostname+template)
	for try := range uint64(1000) { // the names depend on the container, so runs are reproducible
		random, drawn := rand.New(rand.NewPCG(seed.Sum64(), try)), make([]byte, missing)
		for i := range drawn {
			drawn[i] = letters[random.IntN(len(letters))]
		}
		name := prefix + string(drawn)
		if folder != "" && !path.IsAbs(name) {
			name = strings.TrimSuffix(folder, "/") + "/" + name
		}
		made := c.absolute(name)
		if _, err := fs.Lstat(s.Files, relative(made)); err == nil {
			continue
		}
		var err error
		switch {
		case dry:
		case directory:
			if err = s.Files.Mkdir(made); err == nil {
				err = s.Files.Chmod(made, fs.ModeDir|0o700)
			}
		default:
			err = s.Files.WriteFile(made, nil, 0o600)
		}
		if err != nil {
			return c.fail(1, "failed to create '%s': %s", name, reason(err))
		}
		fmt.Fprintln(c.Stdout, name)
		return 0
	}
	return c.fail(1, "failed to create a file from '%s'", template)
}
