package shell

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// programNamed returns the program of this package with a name; nil: there is none. It is not a variable, because sh
// calls it.
func programNamed(name string) func(context.Context, *Shell, *Command) int {
	return map[string]func(context.Context, *Shell, *Command) int{
		"[": test, "cat": cat, "echo": echo, "env": env, "false": fails, "hostname": hostname, "ls": ls, "mkdir": mkdir, "printenv": env, "pwd": pwd,
		"rm": rm, "sh": sh, "bash": sh, "ash": sh, "dash": sh, "date": date, "tail": tail, "wget": wget, "curl": curl, "nc": nc, "nslookup": nslookup, "netstat": netstat, "ln": ln, "tr": tr,
		"sleep": sleep, "tar": tarProgram, "test": test, "touch": touch, "true": succeeds, ":": succeeds,
		"printf": printf, "dd": dd, "head": head, "seq": seq, "tee": tee, "cp": cp, "mv": mv, "chmod": changeMode, "chown": changeOwner, "chgrp": changeOwner, "stat": stat, "id": id, "whoami": whoami, "sync": succeeds, "wc": wc, "grep": grep,
		"base64": base64Program, "cut": cut, "find": find, "md5sum": sum, "mktemp": mktemp, "readlink": readlink, "realpath": readlink, "sed": sed, "sha1sum": sum, "sha256sum": sum,
		"sort": sortProgram, "uname": uname, "uniq": uniq, "which": which, "xargs": xargs,
		"timeout": timeout, "basename": basename, "dirname": basename, "nohup": nohup,
	}[name]
}

func succeeds(context.Context, *Shell, *Command) int { return 0 }

func fails(context.Context, *Shell, *Command) int { return 1 }

func pwd(_ context.Context, _ *Shell, c *Command) int {
	fmt.Fprintln(c.Stdout, c.Dir)
	return 0
}

func hostname(_ context.Context, s *Shell, c *Command) int {
	fmt.Fprintln(c.Stdout, s.Hostname)
	return 0
}

// echo writes its arguments. With -n it writes no newline, and with -e it interprets escapes.
func echo(_ context.Context, _ *Shell, c *Command) int {
	args, end := c.Args[1:], "\n"
	escapes := false
	for len(args) > 0 && (args[0] == "-n" || args[0] == "-e" || args[0] == "-ne" || args[0] == "-en") {
		if strings.Contains(args[0], "n") {
			end = ""
		}
		escapes = escapes || strings.Contains(args[0], "e")
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if escapes {
		text = escaped.Replace(text)
	}
	_, _ = io.WriteString(c.Stdout, text+end)
	return 0
}

// env writes the environment, or as printenv the named variables. If there is a command, it runs that.
func env(ctx context.Context, s *Shell, c *Command) int {
	args := c.Args[1:]
	if path.Base(c.Args[0]) == "printenv" && len(args) > 0 {
		for _, name := range args {
			if !slices.ContainsFunc(c.Environment, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
				return 1
			}
			fmt.Fprintln(c.Stdout, lookup(c.Environment, name))
		}
		return 0
	}
	environment := c.Environment
	for len(args) > 0 && strings.Contains(args[0], "=") {
		environment = append(slices.Clone(environment), args[0])
		args = args[1:]
	}
	if len(args) > 0 {
		p := s.find(c, args[0])
		if p == nil {
			return c.fail(127, "'%s': No such file or directory", args[0])
		}
		inner := *c
		inner.Args, inner.Environment = args, environment
		return p(ctx, &inner)
	}
	seen := map[string]bool{}
	var lines []string
	for i := len(environment) - 1; i >= 0; i-- {
		name, _, _ := strings.Cut(environment[i], "=")
		if !seen[name] {
			lines = append(lines, environment[i])
		}
		seen[name] = true
	}
	slices.Reverse(lines)
	for _, l := range lines {
		fmt.Fprintln(c.Stdout, l)
	}
	return 0
}

// cat writes files, or its input.
func cat(ctx context.Context, s *Shell, c *Command) int {
	code := 0
	names := c.Args[1:]
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return Terminated
		}
		if name == "-" || name == "/dev/stdin" {
			if _, err := io.Copy(c.Stdout, c.Stdin); err != nil {
				return 1
			}
			continue
		}
		absolute := c.absolute(name)
		if info, err := fs.Stat(s.Files, relative(absolute)); err == nil && info.IsDir() {
			code = c.fail(1, "%s: Is a directory", name)
			continue
		}
		in, err := s.open(ctx, c, name)
		if err != nil {
			code = c.fail(1, "%s: %s", name, reason(err))
			continue
		}
		if _, err := io.Copy(c.Stdout, in); err != nil {
			return 1
		}
	}
	return code
}

// ls lists directories. -l shows modes, owners, sizes and times, -n the numbers of the owners, -a names that begin with
// a dot, -d directories themselves, and -L the targets of links.
func ls(ctx context.Context, s *Shell, c *Command) int {
	long, whole, self, inode, numbers, through, code := false, false, false, false, false, false, 0
	var names []string
	for _, a := range c.Args[1:] {
		if !strings.HasPrefix(a, "-") || a == "-" {
			names = append(names, a)
			continue
		}
		for _, f := range a[1:] {
			switch f {
			case 'l':
				long = true
			case 'n':
				long, numbers = true, true
			case 'a', 'A':
				whole = true
			case 'd':
				self = true
			case 'L':
				through = true
			case 'i':
				inode = true
			case '1', 'h':
			default:
				return c.fail(2, "invalid option -- '%c'", f)
			}
		}
	}
	if len(names) == 0 {
		names = []string{"."}
	}
	show := func(path, name string, info fs.FileInfo) {
		if inode { // files have no inodes: the number is a hash of the name
			number := fnv.New32a()
			_, _ = io.WriteString(number, path)
			fmt.Fprint(c.Stdout, number.Sum32(), " ")
		}
		if long {
			named := nameOf
			if numbers {
				named = func(id int64) string { return strconv.FormatInt(id, 10) }
			}
			owner, _ := files.OwnerOf(info)
			if info.Mode()&fs.ModeSymlink != 0 {
				if target, err := fs.ReadLink(s.Files, path); err == nil {
					name += " -> " + target
				}
			}
			fmt.Fprintf(c.Stdout, "%s 1 %s %s %d %s %s\n", listedMode(info.Mode()), named(owner.User), named(owner.Group), info.Size(),
				info.ModTime().UTC().Format("Jan _2 15:04"), name)
			return
		}
		fmt.Fprintln(c.Stdout, name)
	}
	for i, name := range names {
		if ctx.Err() != nil {
			return Terminated
		}
		inTree := relative(c.absolute(name))
		info, err := fs.Lstat(s.Files, inTree)
		if isLink := err == nil && info.Mode()&fs.ModeSymlink != 0; isLink && (through || strings.HasSuffix(name, "/")) {
			info, err = fs.Stat(s.Files, inTree)
		} else if isLink && !long && !self {
			if target, dangles := fs.Stat(s.Files, inTree); dangles == nil {
				info = target
			}
		}
		if err != nil {
			code = c.fail(2, "cannot access '%s': %s", name, reason(err))
			continue
		}
		if !info.IsDir() || self {
			show(inTree, name, info)
			continue
		}
		entries, err := fs.ReadDir(s.Files, inTree)
		if err != nil {
			code = c.fail(2, "cannot open directory '%s': %s", name, reason(err))
			continue
		}
		if len(names) > 1 {
			if i > 0 {
				fmt.Fprintln(c.Stdout)
			}
			fmt.Fprintf(c.Stdout, "%s:\n", name)
		}
		for _, e := range entries {
			if !whole && strings.HasPrefix(e.Name(), ".") {
				continue
			}
			inner := path.Join(inTree, e.Name())
			info, err := e.Info()
			if err == nil && through && info.Mode()&fs.ModeSymlink != 0 {
				if info, err = fs.Stat(s.Files, inner); err != nil {
					code = c.fail(1, "cannot access '%s': %s", path.Join(name, e.Name()), reason(err))
				}
			}
			if err == nil {
				show(inner, e.Name(), info)
			}
		}
	}
	return code
}

// interval returns a number of seconds, or one with a unit: s, m, h or d.
func interval(text string) (time.Duration, error) {
	number := strings.TrimRight(text, "smhd")
	unit, ok := map[string]time.Duration{"": time.Second, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[text[len(number):]]
	n, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(n) || n < 0 {
		return 0, fmt.Errorf("invalid time interval '%s'", text)
	}
	if n *= float64(unit); n >= math.MaxInt64 {
		return math.MaxInt64, nil // 292 years
	}
	return time.Duration(n), nil
}

// sleep waits for a number of seconds, or with a unit: s, m, h or d.
func sleep(ctx context.Context, s *Shell, c *Command) int {
	if len(c.Args) < 2 {
		return c.fail(1, "missing operand")
	}
	var total time.Duration
	for _, a := range c.Args[1:] {
		if a == "infinity" || a == "inf" {
			<-ctx.Done()
			return Terminated
		}
		d, err := interval(a)
		if err != nil {
			return c.fail(1, "%v", err)
		}
		total += min(d, math.MaxInt64-total)
	}
	total -= s.skip(total)
	timer := time.NewTimer(total)
	defer timer.Stop()
	select {
	case <-timer.C:
		if total >= time.Millisecond {
			limitsOf(ctx).paused()
		}
		return 0
	case <-ctx.Done():
		return Terminated
	}
}

// Terminated is the exit code of a program that SIGTERM, or the end of its context, has ended: 128 and the number of the signal.
const Terminated = 143

// test checks files, texts and numbers: -f, -d, -e, -s, -n, -z, =, !=, -eq, -ne, -lt, -le, -gt, -ge, with !, -a and -o.
func test(_ context.Context, s *Shell, c *Command) int {
	args := c.Args[1:]
	if c.Args[0] == "[" {
		if len(args) == 0 || args[len(args)-1] != "]" {
			return c.fail(2, "missing ]")
		}
		args = args[:len(args)-1]
	}
	if len(args) > maxConditions {
		return c.fail(2, "too many arguments")
	}
	ok, err := s.checkAny(c, args)
	switch {
	case err != nil:
		return c.fail(2, "%v", err)
	case ok:
		return 0
	}
	return 1
}

// maxConditions is the maximum of arguments of test, whose time is quadratic.
const maxConditions = 1000

// checkAny checks conditions with -o and -a between them. -a has the higher precedence.
func (s *Shell) checkAny(c *Command, args []string) (bool, error) {
	for _, operator := range []string{"-o", "-a"} {
		index := slices.Index(args, operator)
		if index < 1 || index == len(args)-1 || len(args) == 3 && index != 1 {
			continue
		}
		left, err := s.checkAny(c, args[:index])
		if err != nil {
			return false, err
		}
		right, err := s.checkAny(c, args[index+1:])
		return operator == "-o" && (left || right) || left && right, err
	}
	if len(args) > 1 && args[0] == "!" {
		ok, err := s.checkAny(c, args[1:])
		return !ok, err
	}
	return s.check(c, args)
}

// check checks one condition.
func (s *Shell) check(c *Command, args []string) (bool, error) {
	switch len(args) {
	case 0:
		return false, nil
	case 1:
		return args[0] != "", nil
	case 2:
		info, err := fs.Stat(s.Files, relative(c.absolute(args[1])))
		switch args[0] {
		case "-n":
			return args[1] != "", nil
		case "-z":
			return args[1] == "", nil
		case "-e", "-r", "-w", "-x":
			return err == nil, nil
		case "-f":
			return err == nil && info.Mode().IsRegular(), nil
		case "-d":
			return err == nil && info.IsDir(), nil
		case "-s":
			return err == nil && info.Size() > 0, nil
		case "-L", "-h":
			info, err := fs.Lstat(s.Files, relative(c.absolute(args[1])))
			return err == nil && info.Mode()&fs.ModeSymlink != 0, nil
		case "-p", "-S", "-b", "-c":
			return false, nil // there are none
		case "-t":
			return c.TTY, nil
		}
		return false, fmt.Errorf("%s: unknown operand", args[0])
	case 3:
		switch args[1] {
		case "=", "==":
			return args[0] == args[2], nil
		case "!=":
			return args[0] != args[2], nil
		}
		a, wrongA := strconv.Atoi(args[0])
		b, wrongB := strconv.Atoi(args[2])
		compare := map[string]bool{"-eq": a == b, "-ne": a != b, "-lt": a < b, "-le": a <= b, "-gt": a > b, "-ge": a >= b}
		ok, valid := compare[args[1]]
		if !valid {
			return false, fmt.Errorf("%s: unknown operand", args[1])
		}
		if wrongA != nil || wrongB != nil {
			return false, fmt.Errorf("%s: bad number", args[0])
		}
		return ok, nil
	}
	return false, fmt.Errorf("%s: unexpected operator", args[1])
}

// each calls a function for each argument that is not a flag. flags are the known flags.
func (c *Command) each(ctx context.Context, flags string, do func(name, path string) error) int {
	code := 0
	for _, a := range c.Args[1:] {
		if ctx.Err() != nil {
			return Terminated
		}
		if strings.HasPrefix(a, "-") {
			for _, f := range a[1:] {
				if !strings.ContainsRune(flags, f) {
					return c.fail(1, "invalid option -- '%c'", f)
				}
			}
			continue
		}
		if err := do(a, c.absolute(a)); err != nil {
			code = c.fail(1, "'%s': %s", a, reason(err))
		}
	}
	return code
}

func (c *Command) has(flag string) bool {
	return slices.ContainsFunc(c.Args[1:], func(a string) bool { return strings.HasPrefix(a, "-") && strings.Contains(a, flag) })
}

func touch(ctx context.Context, s *Shell, c *Command) int {
	return c.each(ctx, "", func(_, path string) error {
		data, err := s.read(ctx, path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return s.Files.WriteFile(path, data, 0o644)
	})
}

func rm(ctx context.Context, s *Shell, c *Command) int {
	return c.each(ctx, "rfR", func(_, path string) error {
		info, err := fs.Lstat(s.Files, relative(path))
		switch {
		case err != nil && c.has("f"):
			return nil
		case err != nil:
			return err
		case info.IsDir() && !c.has("r") && !c.has("R"):
			return syscall.EISDIR
		}
		return s.removeAll(path)
	})
}

// removeAll removes a file, or a directory with its contents. A mount stays.
func (s *Shell) removeAll(name string) error {
	err := s.Files.Remove(name)
	if !errors.Is(err, syscall.EBUSY) {
		return err
	}
	entries, _ := fs.ReadDir(s.Files, relative(name)) // none for a file
	for _, entry := range entries {
		_ = s.removeAll(path.Join(name, entry.Name())) // if it fails, so does removing the directory
	}
	return err
}

// uname writes the system: -s its name, -n the hostname, -r the release of the kernel, -m the machine, -a all of them.
func uname(_ context.Context, s *Shell, c *Command) int {
	names, err := c.operands("snrvmoap")
	switch {
	case err != nil:
		return c.fail(1, "%v", err)
	case len(names) > 0:
		return c.fail(1, "extra operand '%s'", names[0])
	}
	var shown []string
	for _, part := range []struct{ flag, text string }{
		{"s", "Linux"}, {"n", s.Hostname}, {"r", Kernel}, {"v", "#1 SMP"}, {"m", "x86_64"}, {"o", "GNU/Linux"},
	} {
		if c.has(part.flag) || c.has("a") || len(c.Args) == 1 && part.flag == "s" {
			shown = append(shown, part.text)
		}
	}
	fmt.Fprintln(c.Stdout, strings.Join(shown, " "))
	return 0
}

// Kernel is the release of the kernel. Nodes report it, too.
const Kernel = "6.12.0"
