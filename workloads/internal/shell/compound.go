package shell

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// begins are the words at which compound commands begin.
var begins = map[string]bool{"if": true, "while": true, "until": true, "for": true, "{": true}

// compound is if, while, until, for or {.
type compound struct {
	kind      string
	variable  string // of for
	words     []word // of for
	condition script
	body      script
	otherwise script // of if
}

// maxNested is how deep compound commands and $(command) are inside one another, when they are read.
const maxNested = 100

// isNext reports whether one of the words comes next.
func (p *parser) isNext(words ...string) bool {
	rest := p.text[p.at:]
	return slices.ContainsFunc(words, func(w string) bool {
		after, ok := strings.CutPrefix(rest, w)
		return ok && (w == ")" || after == "" || strings.IndexByte(" \t\r\n;|&<>()", after[0]) >= 0)
	})
}

// part reads commands up to one of some words, and that word.
func (p *parser) part(ends ...string) (script, string, error) {
	commands, err := p.list(ends...)
	if err != nil {
		return nil, "", err
	}
	for _, end := range ends {
		if p.isNext(end) {
			p.at += len(end)
			return commands, end, nil
		}
	}
	return nil, "", fmt.Errorf("syntax error: expecting %q", ends[0])
}

// compound reads a compound command after its first word.
func (p *parser) compound(kind string) (c *compound, err error) {
	if p.nested++; p.nested > maxNested {
		return nil, fmt.Errorf("syntax error: %d commands are inside one another", maxNested)
	}
	defer func() { p.nested-- }()
	c = &compound{kind: kind}
	switch kind {
	case "{":
		c.body, _, err = p.part("}")
		return c, err
	case "if":
		return c, p.branches(c)
	case "for":
		if err := p.header(c); err != nil {
			return nil, err
		}
		if !p.isNext("do") {
			return nil, fmt.Errorf("syntax error: expecting \"do\"")
		}
		p.at += len("do")
	default:
		if c.condition, _, err = p.part("do"); err != nil {
			return nil, err
		}
	}
	c.body, _, err = p.part("done")
	return c, err
}

// branches reads an if after its first word, or after elif.
func (p *parser) branches(c *compound) (err error) {
	if c.condition, _, err = p.part("then"); err != nil {
		return err
	}
	var end string
	if c.body, end, err = p.part("fi", "else", "elif"); err != nil {
		return err
	}
	switch end {
	case "else":
		c.otherwise, _, err = p.part("fi")
	case "elif":
		var inner *compound
		if inner, err = p.compound("if"); err == nil {
			c.otherwise = script{{commands: []simple{{compound: inner}}}}
		}
	}
	return err
}

// header reads the variable and the words of a for.
func (p *parser) header(c *compound) error {
	p.space(false)
	name, err := p.word()
	if err != nil {
		return err
	}
	if c.variable = name.literal(); c.variable == "" || nameLength(c.variable) != len(c.variable) {
		return fmt.Errorf("syntax error: bad for loop variable")
	}
	p.space(true)
	if !p.isNext("in") {
		return unsupported("for without in")
	}
	p.at += len("in")
	for {
		p.space(false)
		if p.take(";") || p.take("\n") {
			p.space(true)
			return nil
		}
		w, err := p.word()
		if err != nil {
			return err
		}
		if len(w) == 0 {
			return fmt.Errorf("syntax error near %q", p.rest())
		}
		c.words = append(c.words, w)
	}
}

// substitution reads $(command) after the dollar.
func (p *parser) substitution(quoted bool) (part, error) {
	if p.nested++; p.nested > maxNested {
		return part{}, fmt.Errorf("syntax error: %d commands are inside one another", maxNested)
	}
	defer func() { p.nested-- }()
	p.at++
	commands, _, err := p.part(")")
	return part{command: commands, quoted: quoted}, err
}

// output returns what commands write, without the newlines at its end. They do not change the variables of the script.
func (r *session) output(ctx context.Context, commands script) string {
	out := buffer{limits: limitsOf(ctx)}
	defer out.discard()
	inner := *r
	inner.of.Stdout, inner.of.Environment = &out, slices.Clip(r.of.Environment)
	if inner.depth++; inner.depth > maxDepth {
		_ = limitsOf(ctx).exceed("%d commands run inside one another", maxDepth)
		return ""
	}
	inner.list(ctx, commands)
	r.substituted = inner.code
	return strings.TrimRight(strings.ReplaceAll(out.content.String(), "\x00", ""), "\n")
}

// compound runs a compound command with the streams of a command.
func (r *session) compound(ctx context.Context, c *compound, streams *Command) int {
	in, out, errs := r.of.Stdin, r.of.Stdout, r.of.Stderr
	r.of.Stdin, r.of.Stdout, r.of.Stderr = streams.Stdin, streams.Stdout, streams.Stderr
	defer func() { r.of.Stdin, r.of.Stdout, r.of.Stderr = in, out, errs }()
	r.code = 0
	switch c.kind {
	case "{":
		r.list(ctx, c.body)
	case "if":
		if branch := c.body; r.holds(ctx, c.condition) {
			r.code = 0
			r.list(ctx, branch)
		} else {
			r.code = 0
			r.list(ctx, c.otherwise)
		}
	case "for":
		var values []string
		for _, w := range c.words {
			values = append(values, r.expand(ctx, w, true)...)
		}
		for _, v := range values {
			if r.assign(ctx, c.variable+"="+v); !r.iterate(ctx, c.body) {
				break
			}
		}
	default:
		code := 0
		for !r.ends(ctx) && r.holds(ctx, c.condition) == (c.kind == "while") && !r.ends(ctx) {
			r.code = 0
			more := r.iterate(ctx, c.body)
			if code = r.code; !more {
				break
			}
		}
		if !r.exited {
			r.code = code
		}
	}
	return r.code
}

// ends reports whether the script ends.
func (r *session) ends(ctx context.Context) bool { return r.exited || ctx.Err() != nil }

// holds runs a condition.
func (r *session) holds(ctx context.Context, condition script) bool {
	asks := r.asks
	r.asks = true
	r.list(ctx, condition)
	r.asks = asks
	return r.code == 0
}

// iterate runs the body of a loop once, and reports whether the loop goes on.
func (r *session) iterate(ctx context.Context, body script) bool {
	r.list(ctx, body)
	jump := r.jump
	r.jump = ""
	return jump != "break" && !r.ends(ctx) && limitsOf(ctx).do(0) == nil
}

// set changes the options of the shell.
func (r *session) set(c *Command) int {
	for i := 1; i < len(c.Args); i++ {
		a := c.Args[i]
		if len(a) < 2 || a[0] != '-' && a[0] != '+' {
			return r.of.fail(failed, "%v", unsupported("set "+a))
		}
		for _, f := range a[1:] {
			switch f {
			case 'e':
				r.errexit = a[0] == '-'
			case 'x', 'u':
			case 'o':
				if i++; i < len(c.Args) && c.Args[i] == "errexit" {
					r.errexit = a[0] == '-'
				}
			default:
				return r.of.fail(failed, "%v", unsupported("set "+a))
			}
		}
	}
	return 0
}
