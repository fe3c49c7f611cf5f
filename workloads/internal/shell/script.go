package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxFrames limits the nesting of commands in a script, as the depth of the parser's stack, because the parser has no
// limit of its own.
const maxFrames = 10_000

// source is the text of a script. The parser reads it in pieces of at most a KiB.
type source struct{ text *strings.Reader }

var errNested = errors.New("too many commands are inside one another")

// Read implements io.Reader.
func (s source) Read(p []byte) (int, error) {
	if frame := make([]uintptr, 1); runtime.Callers(maxFrames, frame) > 0 {
		return 0, errNested
	}
	return s.text.Read(p)
}

// unsupported returns the error for a feature of sh that this package does not have.
func unsupported(what string) error {
	return fmt.Errorf("syntax error: %s is not supported by the shell of fakecluster; handle sh with Container.HandleExec", what)
}

// parse parses a script. It returns an error for unsupported features, so that a script never runs half.
func parse(text string, bash bool) (*syntax.File, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(source{strings.NewReader(text)}, "")
	if wrong := (syntax.ParseError{}); errors.As(err, &wrong) {
		incomplete := ""
		if wrong.Incomplete {
			incomplete = "unexpected end of file: "
		}
		return nil, &syntaxError{fmt.Sprintf("line %d: syntax error: %s%s", wrong.Pos.Line(), incomplete, wrong.Text), wrong.Incomplete}
	}
	if err != nil {
		return nil, &syntaxError{text: "syntax error: " + strings.TrimPrefix(err.Error(), "1:1: ")}
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		if what := missing(node); what != "" && err == nil {
			err = unsupported(what)
		}
		if !bash {
			withoutBraces(node)
		}
		withoutTabs(node)
		return err == nil
	})
	return file, err
}

// syntaxError is an error of a script. incomplete: more text may make the script valid.
type syntaxError struct {
	text       string
	incomplete bool
}

// Error implements error.
func (e *syntaxError) Error() string { return e.text }

// missing returns the name of an unsupported feature in a node; "" if there is none.
func missing(node syntax.Node) string {
	switch n := node.(type) {
	case *syntax.CoprocClause:
		return "coproc"
	case *syntax.LetClause:
		return "let"
	case *syntax.TimeClause:
		return "time"
	case *syntax.ProcSubst:
		return n.Op.String() + "command)"
	case *syntax.ExtGlob:
		return n.Op.String() + "pattern)"
	case *syntax.ArrayExpr:
		return "an array"
	case *syntax.ForClause:
		if n.Select {
			return "select"
		}
	case *syntax.Assign:
		if n.Index != nil {
			return "an array"
		}
	case *syntax.DeclClause:
		switch n.Variant.Value {
		case "export", "readonly", "local":
		default:
			return n.Variant.Value
		}
	case *syntax.ParamExp:
		switch {
		case n.Index != nil:
			return "an array"
		case n.Names != 0, n.Exp != nil && n.Exp.Op == syntax.OtherParamOps:
			return "${" + n.Param.Value + "@…}"
		case n.Repl != nil && (replaces(n.Repl.Orig) || replaces(n.Repl.With)):
			return "a replacement in a replacement"
		}
	case *syntax.Redirect:
		if n.N != nil && n.N.Value != "0" && n.N.Value != "1" && n.N.Value != "2" {
			return "the file descriptor " + n.N.Value
		}
		if n.Op == syntax.RdrInOut {
			return "<>"
		}
	case *syntax.CallExpr:
		if len(n.Args) > 0 && refused[n.Args[0].Lit()] {
			return n.Args[0].Lit()
		}
	}
	return ""
}

// refused are the builtins of shells that are not supported.
var refused = map[string]bool{
	"alias": true, "unalias": true, "getopts": true, "fc": true, "fg": true, "bg": true, "ulimit": true, "times": true, "hash": true, "mapfile": true,
	"readarray": true, "pushd": true, "popd": true, "dirs": true, "shopt": true, "disown": true, "suspend": true, "builtin": true, "enable": true, "complete": true,
}

// replaces reports whether ${name/pattern/text} is in a word.
func replaces(word *syntax.Word) (found bool) {
	if word != nil {
		syntax.Walk(word, func(node syntax.Node) bool {
			p, ok := node.(*syntax.ParamExp)
			found = found || ok && p.Repl != nil
			return !found
		})
	}
	return found
}

// withoutBraces makes {a,b} literal, as in all shells except bash.
func withoutBraces(node syntax.Node) {
	var words []*syntax.Word
	switch n := node.(type) {
	case *syntax.CallExpr:
		words = n.Args
	case *syntax.WordIter:
		words = n.Items
	}
	for _, w := range words {
		for _, part := range w.Parts {
			if lit, ok := part.(*syntax.Lit); ok && strings.Contains(lit.Value, "{") {
				lit.Value = strings.NewReplacer(`\\`, `\\`, `\{`, `\{`, "{", `\{`).Replace(lit.Value)
			}
		}
	}
}

// withoutTabs removes the tabs at the beginning of the lines of a document after <<-.
func withoutTabs(node syntax.Node) {
	d, ok := node.(*syntax.Redirect)
	if !ok || d.Op != syntax.DashHdoc || d.Hdoc == nil {
		return
	}
	atStart := true
	for _, part := range d.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			atStart = false
			continue
		}
		lines := strings.SplitAfter(lit.Value, "\n")
		for i := range lines {
			if i > 0 || atStart {
				lines[i] = strings.TrimLeft(lines[i], "\t")
			}
		}
		lit.Value, atStart = strings.Join(lines, ""), false
	}
}

// sh runs the script of -c, a file, or its input.
func sh(ctx context.Context, s *Shell, c *Command) int {
	r := newSession(s, c)
	ctx, r.main = takeMain(ctx)
	args, isScript := c.Args[1:], false
	for len(args) > 0 && len(args[0]) > 1 && (args[0][0] == '-' || args[0][0] == '+') {
		flag := args[0]
		args = args[1:]
		if flag == "--" {
			break
		}
		if strings.HasPrefix(flag, "--") {
			if flag != "--login" && flag != "--posix" && flag != "--norc" && flag != "--noprofile" {
				return c.fail(failed, "%v", unsupported(flag))
			}
			continue
		}
		rest, hasScript := strings.CutSuffix(flag, "c")
		isScript = isScript || hasScript
		if len(rest) > 1 {
			var err error
			if args, err = r.setOptions(rest, args); err != nil {
				return c.fail(failed, "%v", err)
			}
		}
	}
	switch {
	case isScript && len(args) == 0:
		return c.fail(failed, "-c requires an argument")
	case isScript:
		if len(args) > 1 {
			r.args = args[1:]
		}
		r.script(ctx, args[0])
	case len(args) > 0:
		data, err := s.read(ctx, c.absolute(args[0]))
		if err != nil {
			return c.fail(127, "%s: %s", args[0], reason(err))
		}
		r.args = args
		r.script(ctx, string(data))
	default:
		r.interactive(ctx)
	}
	return r.end(ctx)
}

// script runs a script. It reports whether the script has a command; one without does not change the exit code.
func (r *session) script(ctx context.Context, text string) (ran bool) {
	l := limitsOf(ctx)
	defer l.release(scriptSize * len(text))
	if l.hold(scriptSize*len(text)) != nil {
		return true
	}
	file, err := parse(text, r.bash)
	if err != nil {
		r.code, r.exited = r.command.fail(failed, "%v", err), !r.command.TTY
		return true
	}
	r.statements(ctx, file.Stmts)
	return len(file.Stmts) > 0
}

// interactive runs each command of the input, with a prompt on a terminal.
func (r *session) interactive(ctx context.Context) {
	lines := bufio.NewReader(r.command.Stdin)
	r.command.Stdin = lines
	text := ""
	for !r.exited && ctx.Err() == nil {
		if r.command.TTY {
			prompt := r.command.Dir + " # "
			if text != "" {
				prompt = "> "
			}
			fmt.Fprint(r.command.Stdout, prompt)
		}
		line, err := readLine(ctx, lines)
		limitsOf(ctx).paused() // it has waited for the client
		text += line
		if len(text) > maxScript {
			_ = limitsOf(ctx).hold(maxHeld + 1)
			return
		}
		wrong := (*syntaxError)(nil)
		if _, failed := parse(text, r.bash); err == nil && errors.As(failed, &wrong) && wrong.incomplete {
			continue
		}
		r.script(ctx, text)
		if text = ""; err != nil {
			return
		}
	}
}

// readLine reads a line of a script, of at most maxScript bytes.
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

// fail writes an error, beginning with the name of the program, and returns the exit code.
func (c *Command) fail(code int, format string, args ...any) int {
	fmt.Fprintf(c.Stderr, "%s: %s\n", path.Base(c.Args[0]), fmt.Sprintf(format, args...))
	return code
}
