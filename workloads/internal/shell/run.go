package shell

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// session is one run of sh. It changes its directory and its variables.
type session struct {
	shell  *Shell
	of     Command
	args   []string // $0, $1 and so on
	code   int      // of the last command
	exited bool

	errexit bool   // set -e: a command that fails ends the script
	asks    bool   // the commands are a condition, whose failure does not end the script
	jump    string // break or continue, until the loop

	depth       int // of $(command)
	substituted int // the exit code of the last $(command) of the command
}

// sh runs the script after -c, a file, or what it reads from its input.
func sh(ctx context.Context, s *Shell, c *Command) int {
	run := &session{shell: s, of: *c, args: c.Args[:1]}
	run.of.Environment = slices.Clone(c.Environment)
	args := c.Args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && len(args[0]) > 1 {
		flags := args[0][1:]
		args = args[1:]
		for _, f := range flags {
			switch f {
			case 'c':
				if len(args) == 0 {
					return c.fail(2, "-c requires an argument")
				}
				if len(args) > 1 {
					run.args = args[1:]
				}
				run.script(ctx, args[0])
				return run.code
			case 'e':
				run.errexit = true
			case 'i', 'l', 'x', 'u':
			default:
				return c.fail(2, "%v", unsupported("-"+string(f)))
			}
		}
	}
	if len(args) > 0 {
		data, err := s.read(ctx, c.absolute(args[0]))
		if err != nil {
			return c.fail(127, "%s: %v", args[0], reason(err))
		}
		run.args = args
		run.script(ctx, string(data))
		return run.code
	}
	run.interactive(ctx)
	return run.code
}

// interactive runs each line of the input, with a prompt on a terminal.
func (r *session) interactive(ctx context.Context) {
	lines := bufio.NewReader(r.of.Stdin)
	r.of.Stdin = lines
	for !r.exited && ctx.Err() == nil {
		if r.of.TTY {
			fmt.Fprintf(r.of.Stdout, "%s # ", r.of.Dir)
		}
		line, err := readLine(ctx, lines)
		limitsOf(ctx).paused() // it has waited for the client
		r.script(ctx, line)
		if err != nil {
			return
		}
	}
}

// readLine reads a line of a script. It may be as long as what can be held as a script.
func readLine(ctx context.Context, lines *bufio.Reader) (string, error) {
	l := limitsOf(ctx)
	held := 0
	defer func() { l.release(held) }()
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		line = append(line, part...)
		held += scriptSize * len(part)
		if limit := l.hold(scriptSize * len(part)); limit != nil {
			return "", limit
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return string(line), err
		}
	}
}

// fail writes an error as the program of the command does, and returns the exit code.
func (c *Command) fail(code int, format string, args ...any) int {
	fmt.Fprintf(c.Stderr, "%s: %s\n", path.Base(c.Args[0]), fmt.Sprintf(format, args...))
	return code
}

// reason returns the text of the system for an error about a file.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "No such file or directory"
	case errors.Is(err, fs.ErrPermission):
		return "Permission denied"
	}
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

func (r *session) script(ctx context.Context, text string) {
	l := limitsOf(ctx)
	defer l.release(scriptSize * len(text))
	if l.hold(scriptSize*len(text)) != nil {
		return
	}
	all, err := parse(text)
	if err != nil {
		r.code = r.of.fail(2, "%v", err)
		return
	}
	r.list(ctx, all)
}

// list runs commands one after the other.
func (r *session) list(ctx context.Context, commands script) {
	for i, p := range commands {
		if r.exited || r.jump != "" || ctx.Err() != nil {
			return
		}
		if p.after == "&&" && r.code != 0 || p.after == "||" && r.code == 0 {
			continue
		}
		r.pipeline(ctx, p)
		if last := i+1 == len(commands) || commands[i+1].after == ""; r.errexit && r.code != 0 && !p.negated && last && !r.asks {
			r.exited = true
		}
	}
}

func (r *session) pipeline(ctx context.Context, p pipeline) {
	in := r.of.Stdin
	for i, one := range p.commands {
		if ctx.Err() != nil {
			return
		}
		between := buffer{limits: limitsOf(ctx)}
		defer between.discard()
		out := r.of.Stdout
		if i < len(p.commands)-1 {
			out = &between
		}
		r.code = r.simple(ctx, one, in, out)
		in = &between
	}
	if p.negated {
		r.code = map[bool]int{true: 1}[r.code == 0]
	}
}

// simple runs one command, and returns its exit code.
func (r *session) simple(ctx context.Context, s simple, in io.Reader, out io.Writer) int {
	l := limitsOf(ctx)
	c := &Command{Stdin: in, Stdout: out, Stderr: r.of.Stderr, Environment: slices.Clip(r.of.Environment), Dir: r.of.Dir, TTY: r.of.TTY}
	r.substituted = 0
	words := s.words
	var assigned []string
	for len(words) > 0 {
		name, _, is := strings.Cut(words[0][0:min(1, len(words[0]))].begin(), "=")
		if !is || name == "" || nameLength(name) != len(name) {
			break
		}
		assigned = append(assigned, strings.Join(r.expand(ctx, words[0], false), ""))
		words = words[1:]
	}
	size := sizeOf(assigned)
	for _, w := range words {
		more := r.expand(ctx, w, true)
		if size += sizeOf(more); l.words(size) != nil {
			break
		}
		c.Args = append(c.Args, more...)
	}
	if l.do(size) != nil || ctx.Err() != nil {
		return 2
	}
	closing, err := r.redirect(ctx, c, s.redirects)
	if err != nil {
		return r.of.fail(1, "%v", err)
	}
	code := 0
	if s.compound != nil {
		code = r.compound(ctx, s.compound, c)
	} else {
		code = r.call(ctx, c, assigned)
	}
	for _, end := range closing {
		if err := end(); err != nil {
			code = r.of.fail(1, "%v", err)
		}
	}
	return code
}

// begin returns the text that a word begins with.
func (w word) begin() string {
	if len(w) == 0 || w[0].variable || w[0].quoted {
		return ""
	}
	return w[0].text
}

// call runs a command of the shell itself, or a program.
func (r *session) call(ctx context.Context, c *Command, assigned []string) int {
	if len(c.Args) == 0 {
		for _, a := range assigned {
			r.assign(ctx, a)
		}
		return r.substituted
	}
	c.Environment = append(c.Environment, assigned...)
	if limitsOf(ctx).words(sizeOf(c.Environment)) != nil {
		return 2
	}
	switch c.Args[0] {
	case "set":
		return r.set(c)
	case "break", "continue":
		r.jump = c.Args[0]
		return 0
	case "exit":
		r.exited = true
		if len(c.Args) == 1 {
			return r.code
		}
		code, err := strconv.Atoi(c.Args[1])
		if err != nil {
			return r.of.fail(2, "exit: Illegal number: %s", c.Args[1])
		}
		return code & 0xff
	case "cd":
		to := "/"
		if len(c.Args) > 1 {
			to = c.absolute(c.Args[1])
		}
		if info, err := fs.Stat(r.shell.Files, relative(to)); err != nil || !info.IsDir() {
			return r.of.fail(2, "cd: can't cd to %s", c.Args[1])
		}
		r.of.Dir = to
		return 0
	case "export":
		for _, a := range c.Args[1:] {
			if strings.Contains(a, "=") {
				r.assign(ctx, a)
			}
		}
		return 0
	case "exec":
		r.exited = true
		if c.Args = c.Args[1:]; len(c.Args) == 0 {
			return r.of.fail(2, "%v", unsupported("exec without a command"))
		}
	}
	p := r.shell.find(c.Args[0])
	if p == nil {
		return r.of.fail(127, "%s: not found", c.Args[0])
	}
	return p(ctx, c)
}

// assign sets a variable. All are exported. Programs that run keep the variables as they are.
func (r *session) assign(ctx context.Context, assignment string) {
	name, _, _ := strings.Cut(assignment, "=")
	others := slices.DeleteFunc(slices.Clone(r.of.Environment), func(v string) bool { return strings.HasPrefix(v, name+"=") })
	r.of.Environment = append(others, assignment)
	_ = limitsOf(ctx).words(sizeOf(r.of.Environment))
}

// expand replaces the variables of a word. With split, what they become is split at spaces, and patterns become the names of files.
func (r *session) expand(ctx context.Context, w word, split bool) []string {
	l := limitsOf(ctx)
	var fields []string // before the last one
	var last strings.Builder
	pattern, started, size := false, len(w) == 0, 0
	for _, p := range w {
		value := p.text
		if p.variable {
			value = r.value(p)
		}
		if p.command != nil {
			value = r.output(ctx, p.command)
		}
		if size += len(value); l.word(size) != nil {
			return nil
		}
		if p.quoted || !split || !p.variable && p.command == nil {
			last.WriteString(value)
			pattern = pattern || !p.quoted && strings.ContainsAny(value, "*?[")
			started = started || p.quoted || value != ""
			continue
		}
		for i, f := range strings.Fields(value) {
			if i > 0 || i == 0 && strings.TrimLeft(value, " \t\n") != value && last.Len() > 0 {
				fields = append(fields, last.String())
				last.Reset()
			}
			last.WriteString(f)
			started = true
		}
	}
	fields = append(fields, last.String())
	if !started {
		return nil // a variable that is empty
	}
	if pattern && split && len(fields) == 1 {
		if names := r.glob(fields[0]); len(names) > 0 {
			return names
		}
	}
	return fields
}

// glob returns the names of the files that match a pattern.
func (r *session) glob(pattern string) []string {
	names, err := fs.Glob(r.shell.Files, relative(r.of.absolute(pattern)))
	if err != nil {
		return nil
	}
	for i := range names {
		names[i] = "/" + names[i]
		if !path.IsAbs(pattern) {
			names[i] = strings.TrimPrefix(strings.TrimPrefix(names[i], r.of.Dir), "/")
		}
	}
	return names
}

// value returns the value of a variable.
func (r *session) value(p part) string {
	value := ""
	switch p.text {
	case "?":
		return strconv.Itoa(r.code)
	case "$":
		return "1"
	case "#":
		return strconv.Itoa(len(r.args) - 1)
	case "@", "*":
		return strings.Join(r.args[1:], " ")
	default:
		if n, err := strconv.Atoi(p.text); err == nil {
			if n < len(r.args) {
				value = r.args[n]
			}
		} else {
			value = lookup(r.of.Environment, p.text)
		}
	}
	if p.text == "PWD" {
		value = r.of.Dir
	}
	if value == "" {
		return p.fallback
	}
	return value
}

// lookup returns the value of a variable; the last one of a name counts.
func lookup(environment []string, name string) string {
	for i := len(environment) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(environment[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// redirect changes the streams of a command. The functions that it returns write the files when the command has ended.
func (r *session) redirect(ctx context.Context, c *Command, redirects []redirect) (closing []func() error, err error) {
	l := limitsOf(ctx)
	for _, to := range redirects {
		name := strings.Join(r.expand(ctx, to.file, false), "")
		if to.operator == "<" {
			data, err := r.shell.read(ctx, c.absolute(name))
			if err != nil {
				return closing, fmt.Errorf("%s: %s", name, reason(err))
			}
			c.Stdin = bytes.NewReader(data)
			continue
		}
		var w io.Writer
		switch name {
		case "&1", "/dev/stdout", "/proc/self/fd/1":
			w = c.Stdout
		case "&2", "/dev/stderr", "/proc/self/fd/2":
			w = c.Stderr
		case "/dev/null":
			w = io.Discard
		default:
			file := buffer{limits: l}
			at := c.absolute(name)
			if to.operator == ">>" {
				data, err := r.shell.read(ctx, at)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					return closing, fmt.Errorf("%s: %s", name, reason(err))
				}
				if _, err := file.Write(data); err != nil {
					return closing, err
				}
			}
			write := func() error {
				if err := r.shell.Files.WriteFile(at, file.content.Bytes(), 0o644); err != nil {
					return fmt.Errorf("can't create %s: %s", name, reason(err))
				}
				return nil
			}
			if err := write(); err != nil {
				return closing, err
			}
			w, closing = &file, append(closing, func() error {
				defer file.discard()
				return write()
			})
		}
		if to.stream == 2 {
			c.Stderr = w
		} else {
			c.Stdout = w
		}
	}
	return closing, nil
}

// relative returns the name of package io/fs for an absolute path.
func relative(name string) string {
	if name = strings.TrimPrefix(path.Clean(name), "/"); name == "" {
		return "."
	}
	return name
}
