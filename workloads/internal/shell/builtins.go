package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// builtin returns a builtin of the shell; nil: there is none.
func builtin(name string) func(context.Context, *session, *Command) int {
	switch name {
	case ".", "source":
		return sourceFile
	case "break", "continue":
		return leave
	case "cd":
		return changeDirectory
	case "command", "exec":
		return runs
	case "eval":
		return evaluate
	case "exit", "return":
		return exit
	case "jobs":
		return listJobs
	case "kill":
		return kill
	case "read":
		return readInput
	case "set":
		return setAll
	case "shift":
		return shift
	case "trap":
		return setTrap
	case "type":
		return describe
	case "umask":
		return printMask
	case "unset":
		return unsetAll
	case "wait":
		return wait
	}
	return nil
}

func printMask(_ context.Context, _ *session, c *Command) int {
	if len(c.Args) == 1 { // another one has no effect
		fmt.Fprintln(c.Stdout, "0022")
	}
	return 0
}

// illegalNumber is the error of a shell for an argument that is not a number.
type illegalNumber string

func (n illegalNumber) Error() string { return "Illegal number: " + string(n) }

// number returns the argument of break, shift and the like.
func (c *Command) number(otherwise int) (int, error) {
	if len(c.Args) < 2 {
		return otherwise, nil
	}
	n, err := strconv.Atoi(c.Args[1])
	if err != nil || n < 0 {
		return 0, illegalNumber(c.Args[1])
	}
	return n, nil
}

// wrong writes an error of a builtin.
func (r *session) wrong(c *Command, code int, err error) int {
	return r.command.fail(code, "%s: %v", c.Args[0], err)
}

func leave(_ context.Context, r *session, c *Command) int {
	n, err := c.number(1)
	if err != nil {
		return r.wrong(c, failed, err)
	}
	n = min(n, r.loops)
	if c.Args[0] == "break" {
		r.breaks = n
	} else if n > 0 { // it leaves the inner loops
		r.continues, r.breaks = 1, n-1
		if n > 1 {
			r.continues = 0
		}
	}
	return 0
}

func exit(_ context.Context, r *session, c *Command) int {
	code, err := c.number(r.code)
	if c.Args[0] == "return" && len(r.scopes) > 0 {
		r.returns = true
	} else {
		r.exited = true
	}
	if err != nil {
		return r.wrong(c, failed, err)
	}
	return code & 0xff
}

func changeDirectory(_ context.Context, r *session, c *Command) int {
	to := r.variables["HOME"].value
	if len(c.Args) > 1 {
		to = c.Args[1]
	}
	switch to {
	case "":
		to = "/"
	case "-":
		if to = r.variables["OLDPWD"].value; to != "" {
			fmt.Fprintln(c.Stdout, to)
		}
	}
	folder := c.absolute(to)
	if info, err := fs.Stat(r.shell.Files, relative(folder)); err != nil || !info.IsDir() {
		return r.wrong(c, failed, fmt.Errorf("can't cd to %s", to))
	}
	r.put("OLDPWD", variable{value: r.command.Dir, set: true})
	r.command.Dir = folder
	return 0
}

// runs runs exec, which replaces the shell by a program, and command, which ignores functions.
func runs(ctx context.Context, r *session, c *Command) int {
	args := c.Args[1:]
	if c.Args[0] == "exec" {
		if len(args) == 0 {
			r.keepStreams = true
			return 0
		}
		r.exited, r.finished = true, true
		if r.main {
			r.shell.trapped.Store(false)
			ctx = withMain(ctx)
		}
		return r.program(ctx, args)
	}
	if len(args) > 0 && (args[0] == "-v" || args[0] == "-V") {
		c.Args = append([]string{"command"}, args[1:]...)
		return describe(ctx, r, c)
	}
	for len(args) > 0 && args[0] == "-p" {
		args = args[1:]
	}
	if len(args) == 0 {
		return 0
	}
	if own := builtin(args[0]); own != nil {
		c.Args = args
		return own(ctx, r, c)
	}
	return r.program(ctx, args)
}

// describe runs type and command -v, which describe names.
func describe(_ context.Context, r *session, c *Command) int {
	code := 0
	for _, name := range c.Args[1:] {
		text := ""
		switch {
		case r.functions[name] != nil:
			text = name + " is a function"
		case builtin(name) != nil:
			text = name + " is a shell builtin"
		case r.shell.find(c, name) != nil:
			text = name + " is " + programPath(name)
		}
		switch {
		case text == "" && c.Args[0] == "command":
			code = 127
		case text == "":
			fmt.Fprintf(c.Stdout, "%s: not found\n", name)
			code = 127
		case c.Args[0] == "command":
			_, where, program := strings.Cut(text, " is /")
			if program {
				name = "/" + where
			}
			fmt.Fprintln(c.Stdout, name)
		default:
			fmt.Fprintln(c.Stdout, text)
		}
	}
	return code
}

func programPath(name string) string {
	if isPath(name) {
		return name
	}
	return path.Join("/bin", name)
}

func evaluate(ctx context.Context, r *session, c *Command) int {
	r.nested(ctx, strings.Join(c.Args[1:], " "))
	return r.code
}

// nested runs a script that may run itself. The exit code of a script without a command is 0.
func (r *session) nested(ctx context.Context, script string) {
	if r.depth++; r.depth > maxDepth {
		_ = limitsOf(ctx).exceed("%d commands run inside one another", maxDepth)
		return
	}
	if !r.script(ctx, script) {
		r.code = 0
	}
	r.depth--
}

// sourceFile runs a file in this shell.
func sourceFile(ctx context.Context, r *session, c *Command) int {
	if len(c.Args) < 2 {
		return r.wrong(c, failed, errors.New("a file is needed"))
	}
	data, err := r.shell.read(ctx, c.absolute(c.Args[1]))
	if err != nil {
		r.exited = !c.TTY
		return r.command.fail(failed, "%s: can't open '%s': %s", c.Args[0], c.Args[1], reason(err))
	}
	r.scopes = append(r.scopes, map[string]variable{}) // for return
	r.nested(ctx, string(data))
	r.returns, r.scopes = false, r.scopes[:len(r.scopes)-1]
	return r.code
}

func setAll(_ context.Context, r *session, c *Command) int {
	args := c.Args[1:]
	for len(args) > 0 && len(args[0]) > 1 && (args[0][0] == '-' || args[0][0] == '+') {
		flags := args[0]
		args = args[1:]
		if flags == "--" {
			r.args = append([]string{r.args[0]}, args...)
			return 0
		}
		var err error
		if args, err = r.setOptions(flags, args); err != nil {
			r.exited = true
			return r.command.fail(failed, "%v", err)
		}
	}
	if len(args) > 0 {
		r.args = append([]string{r.args[0]}, args...)
	}
	return 0
}

func shift(_ context.Context, r *session, c *Command) int {
	n, err := c.number(1)
	if err != nil {
		return r.wrong(c, failed, err)
	}
	if n >= len(r.args) {
		return r.wrong(c, 1, errors.New("can't shift that many"))
	}
	r.args = append([]string{r.args[0]}, r.args[1+n:]...)
	return 0
}

func unsetAll(_ context.Context, r *session, c *Command) int {
	functions := false
	for _, name := range c.Args[1:] {
		switch {
		case name == "-f", name == "-v":
			functions = name == "-f"
		case functions:
			delete(r.functions, name)
		case r.variables[name].readonly:
			return r.wrong(c, 1, fmt.Errorf("%s: is read only", name))
		default:
			r.unset(name)
		}
	}
	return 0
}

// readInput reads a line of the input into variables.
func readInput(ctx context.Context, r *session, c *Command) int {
	args, raw := c.Args[1:], false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		flag := args[0]
		if args = args[1:]; strings.HasSuffix(flag, "p") && len(args) > 0 {
			if c.TTY {
				fmt.Fprint(c.Stderr, args[0])
			}
			args = args[1:]
		} else if strings.Trim(flag, "-rs") != "" {
			return r.wrong(c, failed, unsupported(flag))
		}
		raw = raw || strings.Contains(flag, "r")
	}
	if len(args) == 0 {
		args = []string{"REPLY"}
	}
	line, err := readText(ctx, c.Stdin, raw)
	var values []string
	if !r.expand(ctx, nil, func(config *expand.Config) error {
		values = expand.ReadFields(config, line, len(args), raw)
		return nil
	}) {
		return failed
	}
	for i, name := range args {
		value := ""
		if i < len(values) {
			value = values[i]
		}
		if !syntax.ValidName(name) {
			return r.wrong(c, failed, fmt.Errorf("%s: bad variable name", name))
		}
		if !r.succeeds(ctx, r.assign(ctx, name, value)) {
			return failed
		}
	}
	if err != nil {
		return 1
	}
	return 0
}

// readText reads exactly one line. Without raw, a backslash at the end of a line continues it.
func readText(ctx context.Context, in io.Reader, raw bool) (string, error) {
	l := limitsOf(ctx)
	if err := l.do(0); err != nil {
		return "", err
	}
	bytes, ok := in.(io.ByteReader)
	if !ok {
		bytes = oneByOne{in}
	}
	var line []byte
	for {
		b, err := bytes.ReadByte()
		if err != nil {
			return string(line), err
		}
		escaped := !raw && len(line) > 0 && line[len(line)-1] == '\\'
		switch {
		case b == '\n' && escaped:
			line = line[:len(line)-1]
		case b == '\n':
			return string(line), nil
		default:
			line = append(line, b)
		}
		if err := l.word(len(line)); err != nil {
			return "", err
		}
	}
}

// oneByOne reads single bytes, to leave the rest for other commands.
type oneByOne struct{ in io.Reader }

// ReadByte implements io.ByteReader.
func (o oneByOne) ReadByte() (byte, error) {
	one := make([]byte, 1)
	_, err := io.ReadFull(o.in, one)
	return one[0], err
}

// declare runs export, readonly and local.
func (r *session) declare(ctx context.Context, d *syntax.DeclClause) {
	r.code, r.substituted = 0, 0
	kind := d.Variant.Value
	if kind == "local" && len(r.scopes) == 0 {
		r.code, r.exited = r.command.fail(failed, "local: not in a function"), true
		return
	}
	for _, a := range d.Args {
		var names []string
		value, ok := r.text(ctx, a.Value)
		if !ok {
			return
		}
		if a.Name != nil {
			names = []string{a.Name.Value}
			if !a.Naked {
				names[0] += "=" + value
			}
		} else if value == "-p" || value == "-n" {
			continue
		} else if names, ok = r.fields(ctx, a.Value); !ok {
			return
		}
		for _, n := range names {
			name, value, assigns := strings.Cut(n, "=")
			if !syntax.ValidName(name) {
				r.code, r.exited = r.command.fail(failed, "%s: %s: bad variable name", kind, name), true
				return
			}
			if assigns && a.Append {
				value = r.variables[name].value + value
			}
			if !r.declareOne(ctx, kind, name, value, assigns) {
				return
			}
		}
	}
	r.code = r.substituted
}

func (r *session) declareOne(ctx context.Context, kind, name, value string, assigns bool) bool {
	if kind == "local" {
		scope := r.scopes[len(r.scopes)-1]
		if _, already := scope[name]; !already {
			scope[name] = r.variables[name]
		}
	}
	if assigns && !r.succeeds(ctx, r.assign(ctx, name, value)) {
		return false
	}
	v := r.variables[name]
	v.exported = v.exported || kind == "export"
	v.readonly = v.readonly || kind == "readonly"
	r.put(name, v)
	return true
}
