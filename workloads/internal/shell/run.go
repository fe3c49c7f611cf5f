package shell

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// stops reports whether the following commands do not run.
func (r *session) stops(ctx context.Context) bool {
	return r.exited || r.returns || r.breaks > 0 || r.continues > 0 || ctx.Err() != nil
}

// statements runs commands one after the other.
func (r *session) statements(ctx context.Context, statements []*syntax.Stmt) {
	for _, s := range statements {
		r.signal(ctx)
		if r.stops(ctx) {
			return
		}
		r.statement(ctx, s)
	}
}

// statement runs a command with its redirections.
func (r *session) statement(ctx context.Context, s *syntax.Stmt) {
	if s.Background || s.Disown {
		r.background(ctx, s)
		return
	}
	streams := r.command
	if err := r.redirect(ctx, s.Redirs); err != nil {
		if r.command = streams; ctx.Err() == nil {
			r.code = r.command.fail(1, "%v", err)
		}
	} else if s.Cmd != nil {
		r.run(ctx, s.Cmd)
	} else {
		r.code = 0
	}
	if r.keepStreams {
		r.keepStreams = false
	} else {
		r.command.Stdin, r.command.Stdout, r.command.Stderr = streams.Stdin, streams.Stdout, streams.Stderr
	}
	r.signal(ctx)
	if s.Negated {
		r.code = map[bool]int{true: 1}[r.code == 0]
		return
	}
	if r.code != 0 && r.unchecked == 0 && checked(s.Cmd) && !r.stops(ctx) {
		r.trap(ctx, "ERR")
		r.exited = r.exited || r.errexit
	}
}

// checked reports whether the failure of a command ends a script with set -e. For lists and loops, the failure of a
// command inside does.
func checked(command syntax.Command) bool {
	switch c := command.(type) {
	case *syntax.BinaryCmd:
		return c.Op != syntax.AndStmt && c.Op != syntax.OrStmt
	case *syntax.Block, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause:
		return false
	}
	return true
}

// run runs a command without its redirections.
func (r *session) run(ctx context.Context, command syntax.Command) {
	if _, simple := command.(*syntax.CallExpr); !simple && limitsOf(ctx).do(0) != nil {
		return
	}
	switch c := command.(type) {
	case *syntax.CallExpr:
		r.simple(ctx, c)
	case *syntax.BinaryCmd:
		r.binary(ctx, c)
	case *syntax.Block:
		r.statements(ctx, c.Stmts)
	case *syntax.Subshell:
		sub, err := r.deeper(ctx)
		if err != nil {
			return
		}
		sub.statements(ctx, c.Stmts)
		r.code = sub.end(ctx)
	case *syntax.IfClause:
		r.choose(ctx, c)
	case *syntax.WhileClause:
		r.loop(ctx, c.Do, func() bool { return r.holds(ctx, c.Cond) != c.Until }, nil)
	case *syntax.ForClause:
		r.forEach(ctx, c)
	case *syntax.CaseClause:
		r.match(ctx, c)
	case *syntax.FuncDecl:
		r.functions[c.Name.Value], r.code = c.Body, 0
	case *syntax.ArithmCmd:
		r.code = map[bool]int{true: 1}[r.number(ctx, c.X) == 0]
	case *syntax.TestClause:
		r.code = map[bool]int{false: 1}[r.condition(ctx, c.X)]
	case *syntax.DeclClause:
		r.declare(ctx, c)
	default:
		r.code = r.command.fail(failed, "%v", unsupported(fmt.Sprintf("%T", c)))
	}
}

// binary runs two commands with &&, || or | between them.
func (r *session) binary(ctx context.Context, c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.AndStmt, syntax.OrStmt:
		r.unchecked++
		r.statement(ctx, c.X)
		r.unchecked--
		if (r.code == 0) == (c.Op == syntax.AndStmt) && !r.stops(ctx) {
			r.statement(ctx, c.Y)
		}
		return
	}
	left, err := r.deeper(ctx)
	if err != nil {
		return
	}
	right, err := r.deeper(ctx)
	if err != nil {
		return
	}
	// The context of a writer is canceled when its reader has ended, as SIGPIPE ends a program.
	writing, cancel := context.WithCancel(ctx)
	defer cancel()
	p, discard := newPipe(ctx, cancel)
	defer discard()
	left.command.Stdout, right.command.Stdin = p, p
	if c.Op == syntax.PipeAll {
		left.command.Stderr = p
	}
	written := make(chan int, 1)
	if limitsOf(ctx).start(func() {
		code := failed // of a program that ends its goroutine
		defer func() {
			p.Close()
			written <- code
		}()
		left.statement(writing, c.X)
		code = left.end(writing)
	}) != nil {
		return
	}
	right.statement(ctx, c.Y)
	r.code = right.end(ctx)
	p.Break()
	if code := <-written; r.pipefail && r.code == 0 && ctx.Err() == nil {
		r.code = code
	}
}

// choose runs if.
func (r *session) choose(ctx context.Context, c *syntax.IfClause) {
	for ; c != nil; c = c.Else {
		if len(c.Cond) > 0 && !r.holds(ctx, c.Cond) {
			if r.stops(ctx) {
				return
			}
			continue
		}
		if !r.stops(ctx) {
			r.statements(ctx, c.Then)
		}
		return
	}
	r.code = 0
}

// holds runs a condition.
func (r *session) holds(ctx context.Context, condition []*syntax.Stmt) bool {
	r.unchecked++
	r.statements(ctx, condition)
	r.unchecked--
	return r.code == 0
}

// loop runs commands as long as a condition holds.
func (r *session) loop(ctx context.Context, body []*syntax.Stmt, holds func() bool, next func()) {
	r.loops++
	defer func() { r.loops-- }()
	code := 0
	for !r.stops(ctx) && limitsOf(ctx).do(0) == nil && holds() && !r.stops(ctx) {
		r.statements(ctx, body)
		code = r.code
		if r.continues > 0 {
			r.continues--
		}
		if next != nil && !r.stops(ctx) {
			next()
		}
	}
	if r.breaks > 0 {
		r.breaks--
	}
	if !r.exited && !r.returns {
		r.code = code
	}
}

// forEach runs for.
func (r *session) forEach(ctx context.Context, c *syntax.ForClause) {
	switch over := c.Loop.(type) {
	case *syntax.WordIter:
		values := r.args[1:]
		if over.InPos.IsValid() {
			var ok bool
			if values, ok = r.fields(ctx, over.Items...); !ok {
				return
			}
		}
		next := 0
		r.loop(ctx, c.Do, func() bool {
			if next == len(values) {
				return false
			}
			err := r.assign(ctx, over.Name.Value, values[next])
			next++
			return r.succeeds(ctx, err)
		}, nil)
	case *syntax.CStyleLoop:
		_ = over.Init == nil || r.number(ctx, over.Init) == 0
		r.loop(ctx, c.Do, func() bool { return over.Cond == nil || r.number(ctx, over.Cond) != 0 }, func() {
			if over.Post != nil {
				r.number(ctx, over.Post)
			}
		})
	}
}

// succeeds reports whether err is nil. Otherwise it writes the error, and ends the script.
func (r *session) succeeds(ctx context.Context, err error) bool {
	if err != nil && ctx.Err() == nil {
		r.code, r.exited = r.command.fail(failed, "%v", err), true
	}
	return err == nil
}

// match runs case.
func (r *session) match(ctx context.Context, c *syntax.CaseClause) {
	text, ok := r.text(ctx, c.Word)
	if !ok {
		return
	}
	through, ran := false, false
	for _, item := range c.Items {
		if !through && !slices.ContainsFunc(item.Patterns, func(w *syntax.Word) bool { return r.matches(ctx, text, w) }) {
			continue
		}
		r.statements(ctx, item.Stmts)
		ran = ran || len(item.Stmts) > 0
		if through = item.Op == syntax.Fallthrough; r.stops(ctx) || !through && item.Op != syntax.Resume {
			break
		}
	}
	if !ran {
		r.code = 0
	}
}

// matches reports whether a text matches a pattern.
func (r *session) matches(ctx context.Context, text string, word *syntax.Word) (matches bool) {
	r.expand(ctx, []*syntax.Word{word}, func(config *expand.Config) error {
		found, err := expand.Pattern(config, word)
		if err == nil {
			err = limitsOf(ctx).do(len(text) * len(found))
		}
		if err != nil {
			return err
		}
		expression, err := pattern.Regexp(found, pattern.EntireString|pattern.ExtendedOperators)
		if err != nil {
			matches = text == found
			return nil
		}
		compiled, err := regexp.Compile(expression)
		matches = err == nil && compiled.MatchString(text)
		return err
	})
	return matches
}

// number returns the value of an arithmetic expression.
func (r *session) number(ctx context.Context, x syntax.ArithmExpr) (n int) {
	r.expand(ctx, nil, func(config *expand.Config) (err error) {
		n, err = expand.Arithm(config, x)
		return err
	})
	return n
}

// condition checks the condition in [[ ]].
func (r *session) condition(ctx context.Context, x syntax.TestExpr) bool {
	operand := func(x syntax.TestExpr) string {
		word, _ := x.(*syntax.Word)
		text, _ := r.text(ctx, word)
		return text
	}
	check := func(args ...string) bool {
		ok, err := r.shell.check(&r.command, args)
		r.succeeds(ctx, err)
		return ok
	}
	switch x := x.(type) {
	case *syntax.ParenTest:
		return r.condition(ctx, x.X)
	case *syntax.UnaryTest:
		switch x.Op {
		case syntax.TsNot:
			return !r.condition(ctx, x.X)
		case syntax.TsVarSet:
			return r.variables[operand(x.X)].set
		}
		return check(x.Op.String(), operand(x.X))
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.AndTest:
			return r.condition(ctx, x.X) && r.condition(ctx, x.Y)
		case syntax.OrTest:
			return r.condition(ctx, x.X) || r.condition(ctx, x.Y)
		case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch:
			word, _ := x.Y.(*syntax.Word)
			return r.matches(ctx, operand(x.X), word) == (x.Op != syntax.TsNoMatch)
		case syntax.TsReMatch:
			expression, err := regexp.Compile(operand(x.Y))
			text := operand(x.X)
			return r.succeeds(ctx, err) && limitsOf(ctx).do(len(text)*len(expression.String())) == nil && expression.MatchString(text)
		case syntax.TsBefore:
			return operand(x.X) < operand(x.Y)
		case syntax.TsAfter:
			return operand(x.X) > operand(x.Y)
		}
		return check(operand(x.X), x.Op.String(), operand(x.Y))
	}
	return operand(x) != ""
}

// simple runs a builtin, a function or a program.
func (r *session) simple(ctx context.Context, c *syntax.CallExpr) {
	r.substituted = 0
	args, ok := r.fields(ctx, c.Args...)
	if !ok {
		return
	}
	var hidden []string // the variables that are set for this command only
	old := map[string]variable{}
	var trace []string
	for _, a := range c.Assigns {
		value, ok := r.text(ctx, a.Value)
		if !ok {
			return
		}
		name := a.Name.Value
		if a.Append {
			value = r.variables[name].value + value
		}
		if _, again := old[name]; !again {
			old[name], hidden = r.variables[name], append(hidden, name)
		}
		if !r.succeeds(ctx, r.assign(ctx, name, value)) {
			return
		}
		trace = append(trace, name+"="+quoted(value))
		if len(args) > 0 {
			v := r.variables[name]
			v.exported = true
			r.put(name, v)
		}
	}
	r.trace(trace, args)
	if len(args) == 0 {
		r.code = r.substituted
		return
	}
	r.code = r.call(ctx, args)
	for _, name := range hidden {
		if v := old[name]; v.set {
			r.put(name, v)
		} else {
			r.unset(name)
		}
	}
}

// trace writes a command for set -x.
func (r *session) trace(assignments, args []string) {
	if !r.xtrace {
		return
	}
	for _, a := range args {
		assignments = append(assignments, quoted(a))
	}
	fmt.Fprintf(r.command.Stderr, "+ %s\n", strings.Join(assignments, " "))
}

func quoted(text string) string {
	if q, err := syntax.Quote(text, syntax.LangPOSIX); err == nil {
		return q
	}
	return text
}

func (r *session) unset(name string) {
	if v, ok := r.variables[name]; ok {
		r.size -= len(name) + 10 + len(v.value)
		delete(r.variables, name)
	}
}

// call runs a command with its arguments.
func (r *session) call(ctx context.Context, args []string) int {
	if ctx.Err() != nil {
		return Terminated
	}
	if body := r.functions[args[0]]; body != nil {
		return r.callFunction(ctx, body, args)
	}
	if own := builtin(args[0]); own != nil {
		c := r.command
		c.Args = args
		return own(ctx, r, &c)
	}
	return r.program(ctx, args)
}

// callFunction runs a function of the script.
func (r *session) callFunction(ctx context.Context, body *syntax.Stmt, args []string) int {
	if r.depth++; r.depth > maxDepth {
		_ = limitsOf(ctx).exceed("%d commands run inside one another", maxDepth)
		return failed
	}
	old, loops := r.args, r.loops
	r.args, r.loops, r.scopes = append([]string{r.args[0]}, args[1:]...), 0, append(r.scopes, map[string]variable{})
	r.statement(ctx, body)
	for name, v := range r.scopes[len(r.scopes)-1] {
		if v.set || v.exported || v.readonly {
			r.put(name, v)
		} else {
			r.unset(name)
		}
	}
	r.args, r.loops, r.scopes = old, loops, r.scopes[:len(r.scopes)-1]
	r.returns = false
	r.depth--
	return r.code
}

// program runs a program.
func (r *session) program(ctx context.Context, args []string) int {
	environment := r.environment()
	if limitsOf(ctx).words(sizeOf(environment)) != nil {
		return failed
	}
	c := r.command
	c.Args, c.Environment = args, environment
	p := r.shell.find(&c, args[0])
	if p == nil {
		return r.command.fail(127, "%s: not found", args[0])
	}
	return p(ctx, &c)
}

// end ends a shell, and returns its exit code.
func (r *session) end(ctx context.Context) int {
	if !r.finished && ctx.Err() == nil {
		r.finished = true
		code := r.code
		r.exited, r.returns, r.breaks, r.continues = false, false, 0, 0
		r.trap(ctx, "EXIT")
		if !r.exited {
			r.code = code
		}
		r.exited = true
	}
	if ctx.Err() != nil && r.code == 0 {
		return Terminated
	}
	return r.code
}

// isPath reports whether a name is that of a file and not of a program.
func isPath(name string) bool { return strings.Contains(name, "/") && path.Base(name) != "" }
