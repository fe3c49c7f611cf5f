package shell

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// session is a running shell: sh, or a subshell. It has a directory and variables of its own.
type session struct {
	shell   *Shell
	command Command // of sh, with the current streams and directory
	bash    bool
	main    bool     // the first process of its container, which gets SIGTERM
	args    []string // $0, $1 and so on

	variables map[string]variable
	size      int // of the variables
	functions map[string]*syntax.Stmt
	scopes    []map[string]variable // the variables that are hidden by local ones, for each running function
	random    *rand.Rand

	errexit, nounset, noglob, xtrace, pipefail bool

	code        int // of the last command
	substituted int // of the last $(command) of the command
	depth       int // of $(command), functions and subshells

	exited, returns   bool
	breaks, continues int // the number of loops to leave
	loops             int // the number of loops around the command
	unchecked         int // conditions around the command, whose failure does not end the script
	keepStreams       bool

	traps    map[string]string
	inTrap   bool
	handled  bool // SIGTERM
	jobs     []*job
	lastJob  int
	finished bool // the trap of EXIT has run
}

// variable is a variable of a shell.
type variable struct {
	value              string
	set                bool
	exported, readonly bool
	order              int
}

func newSession(s *Shell, c *Command) *session {
	r := &session{
		shell: s, command: *c, bash: path.Base(c.Args[0]) == "bash", args: c.Args[:1],
		variables: map[string]variable{}, functions: map[string]*syntax.Stmt{}, traps: map[string]string{},
	}
	for _, v := range c.Environment {
		name, value, _ := strings.Cut(v, "=")
		r.put(name, variable{value: value, set: true, exported: true})
	}
	return r
}

// subshell returns a copy of the shell.
func (r *session) subshell() *session {
	sub := *r
	sub.variables, sub.functions = maps.Clone(r.variables), maps.Clone(r.functions)
	sub.scopes, sub.jobs, sub.main, sub.loops = nil, nil, false, 0
	sub.traps = map[string]string{}
	for name, action := range r.traps {
		if action == "" { // signals that are ignored stay ignored
			sub.traps[name] = action
		}
	}
	return &sub
}

// put sets a variable.
func (r *session) put(name string, v variable) {
	old, ok := r.variables[name]
	if v.order = old.order; !ok {
		v.order = len(r.variables) + 1
		r.size += len(name) + 10
	}
	r.size += len(v.value) - len(old.value)
	r.variables[name] = v
}

// assign sets a variable to a value, unless it is read-only.
func (r *session) assign(ctx context.Context, name, value string) error {
	v := r.variables[name]
	if v.readonly {
		return fmt.Errorf("%s: is read only", name)
	}
	v.value, v.set = value, true
	r.put(name, v)
	l := limitsOf(ctx)
	return errors.Join(l.word(len(value)), l.words(r.size))
}

// environment returns the exported variables.
func (r *session) environment() []string {
	var names []string
	for name, v := range r.variables {
		if v.exported && v.set {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return r.variables[a].order - r.variables[b].order })
	for i, name := range names {
		names[i] = name + "=" + r.variables[name].value
	}
	return names
}

// lookup returns the value of a variable. If the name occurs several times, the last one counts.
func lookup(environment []string, name string) string {
	for i := len(environment) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(environment[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// expansion is one expansion of words. It implements expand.WriteEnviron.
type expansion struct {
	ctx     context.Context
	session *session
	used    int // bytes of the values of variables
	most    int
}

// maxPattern is the maximal size in bytes of the variables in a word that removes or replaces patterns, because its time
// is the product of the sizes of text and pattern.
const maxPattern = 32 << 10

// expand expands words. If that fails, it writes the error and returns false, and the script ends.
func (r *session) expand(ctx context.Context, words []*syntax.Word, do func(*expand.Config) error) (ok bool) {
	e := &expansion{ctx: ctx, session: r, most: maxWords}
	patterns := slices.ContainsFunc(words, hasPattern)
	if patterns {
		for _, w := range words {
			e.used += int(w.End().Offset() - w.Pos().Offset())
		}
		e.most = e.used + maxPattern
	}
	config := &expand.Config{Env: e, NoUnset: r.nounset, CmdSubst: func(w io.Writer, c *syntax.CmdSubst) error { return r.substitute(ctx, w, c) }}
	if !r.noglob {
		config.ReadDir2 = e.readDir
	}
	defer func() {
		if v := recover(); v != nil { // a pattern that has no regular expression
			r.command.fail(failed, "%v", v)
			r.code, r.exited, ok = failed, true, false
		}
	}()
	err := do(config)
	if patterns && err == nil {
		err = limitsOf(ctx).do(e.used * e.used)
	}
	switch unset := (expand.UnsetParameterError{}); {
	case ctx.Err() != nil:
		return false
	case errors.As(err, &unset) && unset.Message == "unbound variable":
		err = fmt.Errorf("%s: parameter not set", unset.Node.Param.Value)
	}
	if err != nil {
		r.code, r.exited = r.command.fail(failed, "%v", err), true
	}
	return err == nil
}

// hasPattern reports whether an expansion in a word matches a pattern.
func hasPattern(word *syntax.Word) (found bool) {
	syntax.Walk(word, func(node syntax.Node) bool {
		if p, ok := node.(*syntax.ParamExp); ok {
			found = found || p.Repl != nil
			if p.Exp != nil {
				switch p.Exp.Op {
				case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix,
					syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
					found = true
				}
			}
		}
		_, command := node.(*syntax.CmdSubst) // its words are expanded by themselves
		return !found && !command
	})
	return found
}

// fields expands words to the arguments of a command.
func (r *session) fields(ctx context.Context, words ...*syntax.Word) (fields []string, ok bool) {
	l := limitsOf(ctx)
	size := 0
	ok = r.expand(ctx, words, func(config *expand.Config) error {
		for field, err := range expand.FieldsSeq(config, words...) {
			if err != nil {
				return err
			}
			size += len(field) + 9
			if err := errors.Join(l.word(len(field)), l.words(size)); err != nil {
				return err
			}
			fields = append(fields, field)
		}
		return nil
	})
	return fields, ok && l.do(size) == nil
}

// text expands a word to one text.
func (r *session) text(ctx context.Context, word *syntax.Word) (text string, ok bool) {
	if word == nil {
		return "", true
	}
	ok = r.expand(ctx, []*syntax.Word{word}, func(config *expand.Config) (err error) {
		if text, err = expand.Literal(config, word); err != nil {
			return err
		}
		return limitsOf(ctx).word(len(text))
	})
	return text, ok
}

// Get implements expand.Environ.
func (e *expansion) Get(name string) expand.Variable {
	r := e.session
	text := func(s string) expand.Variable {
		if e.used += len(s); e.used > e.most {
			_ = limitsOf(e.ctx).words(maxWords + 1)
			s = ""
		}
		return expand.Variable{Set: true, Kind: expand.String, Str: s}
	}
	switch name {
	case "?":
		return text(strconv.Itoa(r.code))
	case "$":
		return text("1")
	case "!":
		if r.lastJob == 0 {
			return expand.Variable{}
		}
		return text(strconv.Itoa(r.lastJob))
	case "#":
		return text(strconv.Itoa(len(r.args) - 1))
	case "-":
		return text(r.options())
	case "PWD":
		return text(r.command.Dir)
	case "PPID":
		return text("0")
	case "@", "*":
		list := r.args[1:]
		if e.used += sizeOf(list); e.used > e.most {
			_ = limitsOf(e.ctx).words(maxWords + 1)
			list = nil
		}
		return expand.Variable{Set: true, Kind: expand.Indexed, List: list}
	case "RANDOM":
		return text(strconv.Itoa(r.nextRandom()))
	}
	if user, ok := strings.CutPrefix(name, "HOME "); ok { // otherwise package expand looks it up on this machine
		if user == "root" {
			return text("/root")
		}
		return text("~" + user)
	}
	if n, err := strconv.Atoi(name); err == nil {
		if n < len(r.args) {
			return text(r.args[n])
		}
		return expand.Variable{}
	}
	v := r.variables[name]
	if !v.set {
		return expand.Variable{}
	}
	return text(v.value)
}

// nextRandom returns $RANDOM. The numbers depend on the container.
func (r *session) nextRandom() int {
	if r.random == nil {
		h := fnv.New64a()
		_, _ = io.WriteString(h, r.shell.Hostname)
		r.random = rand.New(rand.NewPCG(h.Sum64(), 0))
	}
	return r.random.IntN(1 << 15)
}

// Each implements expand.Environ.
func (e *expansion) Each(do func(string, expand.Variable) bool) {}

// Set implements expand.WriteEnviron, for ${name:=value} and $((name = 1)).
func (e *expansion) Set(name string, v expand.Variable) error {
	return e.session.assign(e.ctx, name, v.Str)
}

// readDir reads a directory for a pattern.
func (e *expansion) readDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(e.session.shell.Files, relative(name))
	size := 0
	for _, entry := range entries {
		size += len(entry.Name()) * max(e.used, 1)
	}
	if limit := limitsOf(e.ctx).do(size); limit != nil {
		return nil, limit
	}
	return entries, err
}

// substitute writes the output of $(command).
func (r *session) substitute(ctx context.Context, w io.Writer, c *syntax.CmdSubst) error {
	l := limitsOf(ctx)
	out := buffer{limits: l}
	defer out.discard()
	sub, err := r.deeper(ctx)
	if err != nil {
		return err
	}
	sub.command.Stdout = &out
	if word := onlyRead(c.Stmts); word != nil {
		sub.copyFile(ctx, word)
	} else {
		sub.statements(ctx, c.Stmts)
	}
	r.substituted = sub.end(ctx)
	_, err = w.Write(out.content.Bytes())
	return errors.Join(err, ctx.Err(), l.word(out.content.Len()))
}

// onlyRead returns the name of the file of $(<file).
func onlyRead(statements []*syntax.Stmt) *syntax.Word {
	if len(statements) != 1 || statements[0].Cmd != nil || len(statements[0].Redirs) != 1 || statements[0].Redirs[0].Op != syntax.RdrIn {
		return nil
	}
	return statements[0].Redirs[0].Word
}

func (r *session) copyFile(ctx context.Context, word *syntax.Word) {
	name, ok := r.text(ctx, word)
	if !ok {
		return
	}
	data, err := r.shell.read(ctx, r.command.absolute(name))
	if err != nil {
		r.code = r.command.fail(1, "can't open %s: %s", name, reason(err))
		return
	}
	_, _ = r.command.Stdout.Write(data)
}

// deeper returns a subshell for a part of a script.
func (r *session) deeper(ctx context.Context) (*session, error) {
	l := limitsOf(ctx)
	if err := l.do(r.size); err != nil {
		return nil, err
	}
	sub := r.subshell()
	if sub.depth++; sub.depth > maxDepth {
		return nil, l.exceed("%d commands run inside one another", maxDepth)
	}
	return sub, nil
}

// options returns $-.
func (r *session) options() string {
	flags := ""
	for _, o := range []struct {
		set  bool
		flag string
	}{{r.errexit, "e"}, {r.noglob, "f"}, {r.nounset, "u"}, {r.xtrace, "x"}} {
		if o.set {
			flags += o.flag
		}
	}
	return flags
}

// setOptions sets options such as -eu and +x, and -o with its argument, and returns the other arguments.
func (r *session) setOptions(flags string, args []string) ([]string, error) {
	on := flags[0] == '-'
	for _, f := range flags[1:] {
		switch f {
		case 'e':
			r.errexit = on
		case 'u':
			r.nounset = on
		case 'f':
			r.noglob = on
		case 'x':
			r.xtrace = on
		case 'i', 'l', 's', 'a', 'h', 'm', 'b':
		case 'o':
			if len(args) == 0 {
				return nil, unsupported("-o without an argument")
			}
			option := map[string]*bool{"errexit": &r.errexit, "nounset": &r.nounset, "noglob": &r.noglob, "xtrace": &r.xtrace, "pipefail": &r.pipefail}[args[0]]
			if option == nil {
				return nil, unsupported("-o " + args[0])
			}
			*option = on
			args = args[1:]
		default:
			return nil, unsupported(flags[:1] + string(f))
		}
	}
	return args, nil
}
